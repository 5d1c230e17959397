// A person's side of a survey with local differential privacy, for browsers and Node.
//
// It makes the same reports from the same random bytes as the Python package, which tests hold it
// to. It reads no clock, keeps nothing and sends nothing: a page decides what to do with a report.
//
//   import { answer, encode } from "./client.js";
//   const line = answer(form, encode(form, { age: "34", smoker: "yes" }).codes);
//
// "form" is what Python's understudy.local.forms.client_form(plan) gives.

const WHOLE = 1n << 64n;
const MASK_64 = WHOLE - 1n;
const MASK_32 = 0xffffffffn;
export const VERSION = 1;

// ------------------------------------------------------------------ random words

/** Random bytes from the operating system. */
function systemBytes(count) {
  return globalThis.crypto.getRandomValues(new Uint8Array(count));
}

/** A stream of bytes, read as 64-bit words with the least significant byte first. */
export class Words {
  constructor(read = systemBytes) {
    this.read = read;
  }

  /** The words of given bytes, for test vectors. */
  static ofBytes(bytes) {
    let place = 0;
    return new Words((count) => {
      if (place + count > bytes.length) throw new RangeError("the stream of bytes has ended");
      place += count;
      return bytes.subarray(place - count, place);
    });
  }

  next() {
    const bytes = this.read(8);
    let word = 0n;
    for (let place = 7; place >= 0; place -= 1) word = (word << 8n) | BigInt(bytes[place]);
    return word;
  }

  /** A whole number below a bound, all equally likely; words that are left over are thrown away. */
  below(bound) {
    const share = WHOLE / bound;
    for (;;) {
      const number = this.next() / share;
      if (number < bound) return number;
    }
  }
}

// ------------------------------------------------------------------ randomisers

function drawDirect(value, size, keep, other, word) {
  if (word < keep) return value;
  return (value + 1n + (word - keep) / other) % size;
}

function direct(randomiser, value, words) {
  const { keep, other } = randomiser.thresholds;
  const size = BigInt(randomiser.size);
  return [drawDirect(value, size, BigInt(keep), BigInt(other), words.next())];
}

/** 64 bits at a time: bit j of the first word is the highest digit of a uniform number, and so on;
    a bit is reported where its number lies below its threshold. */
function unary(randomiser, value, words) {
  const onTrue = BigInt(randomiser.thresholds.true);
  const onOther = BigInt(randomiser.thresholds.other);
  const parts = [];
  for (let start = 0; start < randomiser.size; start += 64) {
    const valid = Math.min(randomiser.size - start, 64);
    let undecided = (1n << BigInt(valid)) - 1n;
    const place = value - BigInt(start);
    const own = place >= 0n && place < 64n ? 1n << place : 0n;
    let below = 0n;
    for (let digit = 63n; digit >= 0n && undecided; digit -= 1n) {
      const word = words.next();
      const elsewhere = (onOther >> digit) & 1n ? MASK_64 : 0n;
      const here = (onTrue >> digit) & 1n ? MASK_64 : 0n;
      const plane = (elsewhere & (MASK_64 ^ own)) | (here & own);
      below |= undecided & plane & (MASK_64 ^ word);
      undecided &= MASK_64 ^ (word ^ plane);
    }
    parts.push(below & MASK_32);
    if (valid > 32) parts.push(below >> 32n);
  }
  return parts;
}

function hashing(randomiser, value, words) {
  const buckets = BigInt(randomiser.thresholds.buckets);
  const places = 1n << 17n;
  const drawn = words.next();
  const factor = drawn & MASK_32;
  const summand = drawn >> 32n;
  const place = ((factor * value + summand) & MASK_32) >> 15n;
  // Bucket j begins at ceil(j places / buckets).
  let bucket = (place * buckets) / places;
  while (bucket + 1n < buckets && ((bucket + 1n) * places + buckets - 1n) / buckets <= place) {
    bucket += 1n;
  }
  while ((bucket * places + buckets - 1n) / buckets > place) bucket -= 1n;
  const { keep, other } = randomiser.thresholds;
  const reported = drawDirect(bucket, buckets, BigInt(keep), BigInt(other), words.next());
  return [factor, summand, reported];
}

function countOnes(number) {
  let ones = 0n;
  for (let rest = number; rest; rest >>= 1n) ones += rest & 1n;
  return ones;
}

function hadamard(randomiser, value, words) {
  const [blocks, length, high, low] = ["blocks", "length", "high", "low"].map((name) =>
    BigInt(randomiser.thresholds[name]),
  );
  const half = length / 2n;
  const own = value % blocks;
  const row = value / blocks + 1n;
  const word = words.next();
  const fits = word < half * high;
  const drawn = fits ? word / high : (word - half * high) / low;
  if (!fits && drawn >= half) {
    const beyond = drawn - half;
    return [((own + 1n + beyond / length) % blocks) * length + (beyond % length)];
  }
  const highest = BigInt(row.toString(2).length - 1);
  const lower = drawn & ((1n << highest) - 1n);
  const opened = ((drawn >> highest) << (highest + 1n)) | lower;
  const digit = (countOnes(opened & row) & 1n) ^ (fits ? 0n : 1n);
  return [own * length + (opened | (digit << highest))];
}

/** A set of values: the true one if a word says so, the others by Floyd's method. */
function subset(randomiser, value, words) {
  const size = BigInt(randomiser.size);
  const found = new Set();
  let rest = BigInt(randomiser.thresholds.chosen);
  if (words.next() < BigInt(randomiser.thresholds.keep)) {
    found.add(value);
    rest -= 1n;
  }
  for (let last = size - 1n - rest; last < size - 1n; last += 1n) {
    let other = (value + 1n + words.below(last + 1n)) % size;
    if (found.has(other)) other = (value + 1n + last) % size;
    found.add(other);
  }
  const parts = new Array(Math.ceil(randomiser.size / 32)).fill(0n);
  for (const each of found) parts[Number(each / 32n)] |= 1n << each % 32n;
  return parts;
}

const RANDOMISERS = {
  direct,
  "randomised response": direct,
  "symmetric unary": unary,
  "optimal unary": unary,
  "optimal hashing": hashing,
  "threshold histogram": unary,
  "subset selection": subset,
  hadamard,
};

/** The report of a value: a list of whole numbers (BigInt). */
export function perturb(randomiser, value, words = new Words()) {
  const draw = RANDOMISERS[randomiser.kind];
  if (!draw) throw new Error(`This page does not know the randomiser "${randomiser.kind}".`);
  if (!Number.isInteger(value) || value < 0 || value >= randomiser.size) {
    throw new RangeError("a value is outside the randomiser's range");
  }
  return draw(randomiser, BigInt(value), words);
}

// ------------------------------------------------------------------ what a form promises

const TOLERANCE = 1e-9; // of a loss that is computed in floating point

/** The logarithm of a quotient of whole numbers; infinite where there is none. */
function logOfRatio(above, below) {
  if (above <= 0n || below <= 0n) return Infinity;
  return Math.log(Number(above) / Number(below));
}

/** Two numbers of words, with how many reports have each: together they must be all words. */
function lossOfShares(high, low, matching, others) {
  return matching * high + others * low === WHOLE ? logOfRatio(high, low) : Infinity;
}

function lossOfUnary({ true: onTrue, other }) {
  return logOfRatio(onTrue * (WHOLE - other), other * (WHOLE - onTrue));
}

function lossOfDirect({ keep, other }, size) {
  return lossOfShares(keep, other, 1n, size - 1n);
}

const LOSSES = {
  direct: lossOfDirect,
  "randomised response": lossOfDirect,
  "symmetric unary": lossOfUnary,
  "optimal unary": lossOfUnary,
  "optimal hashing": ({ buckets, keep, other }) => lossOfShares(keep, other, 1n, buckets - 1n),
  "threshold histogram": lossOfUnary,
  "subset selection": ({ chosen, keep }, size) =>
    logOfRatio(keep * (size - chosen), (WHOLE - keep) * chosen),
  hadamard: ({ blocks, length, high, low }) =>
    lossOfShares(high, low, length / 2n, blocks * length - length / 2n),
};

/** The largest privacy loss of a report, from the whole numbers that it is drawn by. */
export function lossOf(randomiser) {
  const loss = LOSSES[randomiser.kind];
  if (!loss) throw new Error(`This page does not know the randomiser "${randomiser.kind}".`);
  const thresholds = Object.fromEntries(
    Object.entries(randomiser.thresholds).map(([name, number]) => [name, BigInt(number)]),
  );
  return loss(thresholds, BigInt(randomiser.size));
}

/** Refuse a form of which any question would tell more than its level of privacy says. */
export function checkForm(form) {
  for (const { columns, odd, sizes, randomisers } of form.questions) {
    const size = odd ? 2 : sizes.reduce((product, each) => product * each, 1);
    randomisers.forEach((randomiser, level) => {
      const kept = lossOf(randomiser) <= form.levels[level] + TOLERANCE;
      if (!kept || randomiser.size !== size) {
        throw new Error(
          `The question about ${columns.join(" and ")} does not keep the privacy that is ` +
            "stated; do not answer this survey.",
        );
      }
    });
  }
}

// ------------------------------------------------------------------ questions and reports

/** The number of the question that a random word draws. */
export function drawQuestion(form, words) {
  const word = words.next();
  return form.draw.reduce((place, end) => place + (BigInt(end) <= word ? 1 : 0), 0);
}

/** The true answer to a question: the joint index of its columns' codes, or a parity. */
export function trueAnswer(question, codes) {
  if (question.odd) {
    return question.columns.reduce(
      (bit, name, place) => bit ^ (question.odd[place].includes(codes[name]) ? 1 : 0),
      0,
    );
  }
  return question.columns.reduce(
    (index, name, place) => index * question.sizes[place] + codes[name],
    0,
  );
}

/** The level at which a question is answered. Where a person has chosen one for each column, the
    most private of those of its columns counts for all of them. */
export function levelOf(form, question, chosen) {
  if (typeof chosen === "number") return chosen;
  return question.columns
    .map((name) => chosen[name] ?? 0)
    .reduce((one, other) => (form.levels[other] < form.levels[one] ? other : one));
}

/** One person's report, as the line that is sent, without its end. The level is a number, or an
    object with a number for each column. */
export function answer(form, codes, { level: chosen = 0, words = new Words(), token = null } = {}) {
  checkForm(form);
  const place = drawQuestion(form, words);
  const question = form.questions[place];
  const level = levelOf(form, question, chosen);
  const report = perturb(question.randomisers[level], trueAnswer(question, codes), words);
  let number = "";
  for (const byte of [...words.read(8), ...words.read(8)]) {
    number += byte.toString(16).padStart(2, "0");
  }
  const written = report.map((part) => part.toString(16)).join(".");
  const given = token ?? number;
  const proof = given.length > 32 ? `,"t":"${given.slice(32)}"` : "";
  return (
    `{"v":${VERSION},"p":"${form.plan}","q":${place},"e":${level},` +
    `"r":"${written}","n":"${given.slice(0, 32)}"${proof}}`
  );
}

// ------------------------------------------------------------------ what a person enters

const NUMBER = /^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?$/;

/** A number in a column's unit: plain, days since 1970, or seconds since 1970 or midnight. */
function numberOf(column, text) {
  if (column.kind === "date") return Date.parse(`${text}T00:00:00Z`) / 86400000;
  if (column.kind === "datetime") return Date.parse(`${text}Z`) / 1000;
  if (column.kind === "time") return Date.parse(`1970-01-01T${text}Z`) / 1000;
  return NUMBER.test(text) ? Number(text) : NaN;
}

/** The code of what was entered, and whether it fits; what does not fit has a code as well. */
export function codeOf(column, entered) {
  const text = entered === null || entered === undefined ? "" : String(entered).trim();
  if (text === "") return { code: column.absent, fits: column.missing };
  if (column.values) {
    const code = column.values.indexOf(text);
    return code < 0 ? { code: column.outside, fits: false } : { code, fits: true };
  }
  const number = numberOf(column, text);
  if (Number.isNaN(number)) return { code: column.absent, fits: false };
  // A number between two values of a grid counts as the nearest: codes begin at cuts, not at edges.
  const { cuts } = column;
  const inside = number >= cuts[0] && number < cuts[cuts.length - 1];
  let code = 0;
  while (code < cuts.length - 2 && number >= cuts[code + 1]) code += 1;
  return { code, fits: inside };
}

/** The codes of all columns, and the names of those whose entry does not fit. */
export function encode(form, entered) {
  const codes = {};
  const misfits = [];
  for (const column of form.columns) {
    const { code, fits } = codeOf(column, entered[column.name]);
    codes[column.name] = code;
    if (!fits) misfits.push(column.name);
  }
  return { codes, misfits };
}
