#!/usr/bin/env node
// Sort the keys of a JSON file and indent it by two spaces.
const fs = require("fs");
const path = require("path");

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
  }
  return value;
}

const words = process.argv.slice(2);
const check = words[0] === "--check";
const [input, output] = check ? words.slice(1) : words;
if (!input) {
  console.error("usage: tidy.js [--check] <data.json> [<output.json>]");
  process.exit(2);
}
try {
  const text = JSON.stringify(sorted(JSON.parse(fs.readFileSync(input, "utf8"))), null, 2) + "\n";
  if (!check && output) {
    fs.mkdirSync(path.dirname(output), { recursive: true });
    fs.writeFileSync(output, text);
  }
  console.log(check ? `${input} is valid` : `wrote ${output || "nothing"}`);
} catch (error) {
  console.error(`${input}: ${error.message}`);
  process.exit(1);
}
