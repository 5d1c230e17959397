// Tokens that nobody can link to the person who got them: a person's side, for browsers and Node.
//
// RFC 9497 (a verifiable oblivious pseudo-random function) on ristretto255 (RFC 9496) with SHA-512,
// as in blind_tokens.py, which has the issuer's side. Tests hold this file to the vectors of the
// RFC and to the library that the issuer uses.
//
//   import { requestToken, finishToken } from "./tokens.js";
//   const asked = await requestToken();                 // asked.text goes to the issuer
//   const token = await finishToken(asked, response, form.token_key);
//
// The arithmetic is on BigInt, whose time depends on the numbers. The only secrets are the person's
// own number and blinding factor, used once, on her own device, where nobody times it.

const P = (1n << 255n) - 19n;
const ORDER = (1n << 252n) + 27742317777372353535851937790883648493n;
const MASK_255 = (1n << 255n) - 1n;
const NUMBER_BYTES = 16;

// ------------------------------------------------------------------ the field of 2^255 - 19

function mod(a, modulus = P) {
  const rest = a % modulus;
  return rest < 0n ? rest + modulus : rest;
}

function power(base, exponent, modulus = P) {
  let result = 1n;
  let factor = mod(base, modulus);
  for (let rest = exponent; rest; rest >>= 1n) {
    if (rest & 1n) result = (result * factor) % modulus;
    factor = (factor * factor) % modulus;
  }
  return result;
}

const invert = (a, modulus = P) => power(a, modulus - 2n, modulus);
const isNegative = (a) => (mod(a) & 1n) === 1n;
const absolute = (a) => (isNegative(a) ? mod(-a) : mod(a));

const D = mod(-121665n * invert(121666n));
const SQRT_M1 = power(2n, (P - 1n) / 4n);

/** Whether u / v is a square, and the root of it, or of SQRT_M1 u / v, that is not negative. */
function squareRootOfRatio(u, v) {
  const v3 = mod(v * v * v);
  let root = mod(u * v3 * power(u * v3 * v3 * v, (P - 5n) / 8n));
  const check = mod(v * root * root);
  const correct = check === mod(u);
  const flipped = check === mod(-u);
  if (flipped || check === mod(-u * SQRT_M1)) root = mod(root * SQRT_M1);
  return [correct || flipped, absolute(root)];
}

const INVERSE_ROOT_A_MINUS_D = squareRootOfRatio(1n, mod(-1n - D))[1];
// The root of a d - 1 whose sign is that of RFC 9496.
const ROOT_AD_MINUS_ONE = mod(-squareRootOfRatio(mod(-D - 1n), 1n)[1]);
const ONE_MINUS_D_SQUARED = mod(1n - D * D);
const D_MINUS_ONE_SQUARED = mod((D - 1n) * (D - 1n));

// ------------------------------------------------------------------ the group

const IDENTITY = [0n, 1n, 1n, 0n];

function add([x1, y1, z1, t1], [x2, y2, z2, t2]) {
  const a = mod((y1 - x1) * (y2 - x2));
  const b = mod((y1 + x1) * (y2 + x2));
  const c = mod(2n * D * t1 * t2);
  const d = mod(2n * z1 * z2);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
}

function multiply(scalar, point) {
  let result = IDENTITY;
  let doubled = point;
  for (let rest = mod(scalar, ORDER); rest; rest >>= 1n) {
    if (rest & 1n) result = add(result, doubled);
    doubled = add(doubled, doubled);
  }
  return result;
}

function encodePoint([x0, y0, z0, t0]) {
  const u1 = mod((z0 + y0) * (z0 - y0));
  const u2 = mod(x0 * y0);
  const inverse = squareRootOfRatio(1n, mod(u1 * u2 * u2))[1];
  const [den1, den2] = [mod(inverse * u1), mod(inverse * u2)];
  const zInverse = mod(den1 * den2 * t0);
  let [x, y, den] = [x0, y0, den2];
  if (isNegative(t0 * zInverse)) {
    [x, y, den] = [mod(y0 * SQRT_M1), mod(x0 * SQRT_M1), mod(den1 * INVERSE_ROOT_A_MINUS_D)];
  }
  if (isNegative(x * zInverse)) y = mod(-y);
  return writeNumber(absolute(den * (z0 - y)), 32);
}

function decodePoint(bytes) {
  const s = readNumber(bytes);
  if (bytes.length !== 32 || s >= P || isNegative(s)) throw new Error(DAMAGED);
  const square = mod(s * s);
  const [u1, u2] = [mod(1n - square), mod(1n + square)];
  const v = mod(-D * u1 * u1 - u2 * u2);
  const [isSquare, inverse] = squareRootOfRatio(1n, mod(v * u2 * u2));
  const denX = mod(inverse * u2);
  const x = absolute(2n * s * denX);
  const y = mod(u1 * inverse * denX * v);
  const t = mod(x * y);
  if (!isSquare || isNegative(t) || y === 0n) throw new Error(DAMAGED);
  return [x, y, 1n, t];
}

function mapToPoint(bytes) {
  const t = mod(readNumber(bytes) & MASK_255);
  const r = mod(SQRT_M1 * t * t);
  const u = mod((r + 1n) * ONE_MINUS_D_SQUARED);
  const v = mod((-1n - r * D) * (r + D));
  const [isSquare, root] = squareRootOfRatio(u, v);
  const s = isSquare ? root : mod(-absolute(root * t));
  const c = isSquare ? P - 1n : r;
  const n = mod(c * (r - 1n) * D_MINUS_ONE_SQUARED - v);
  const [w0, w1] = [mod(2n * s * v), mod(n * ROOT_AD_MINUS_ONE)];
  const [w2, w3] = [mod(1n - s * s), mod(1n + s * s)];
  return [mod(w0 * w3), mod(w2 * w1), mod(w1 * w3), mod(w0 * w2)];
}

function basePoint() {
  const y = mod(4n * invert(5n));
  const x = squareRootOfRatio(mod(y * y - 1n), mod(D * y * y + 1n))[1];
  return [x, y, 1n, mod(x * y)];
}

// ------------------------------------------------------------------ bytes and hashes

const text = (string) => new TextEncoder().encode(string);
const CONTEXT = "OPRFV1-\u0001-ristretto255-SHA512";
const DAMAGED =
  "The answer to the request for a token is damaged, or was not made with the key that stands in " +
  "the plan, which could tell persons apart. Nothing is sent.";

function readNumber(bytes) {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

function writeNumber(number, length) {
  const bytes = new Uint8Array(length);
  for (let place = 0, rest = number; place < length; place += 1, rest >>= 8n) {
    bytes[place] = Number(rest & 255n);
  }
  return bytes;
}

function join(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}

const withLength = (bytes) => join(Uint8Array.of(bytes.length >> 8, bytes.length & 255), bytes);

async function hash(...parts) {
  const { subtle } = globalThis.crypto;
  if (!subtle) throw new Error("This page must be opened by https to get an anonymous token.");
  return new Uint8Array(await subtle.digest("SHA-512", join(...parts)));
}

/** 64 bytes of a message (expand_message_xmd of RFC 9380, of the length of one hash). */
async function expand(message, purpose) {
  const tag = text(purpose + CONTEXT);
  const ending = join(tag, Uint8Array.of(tag.length));
  const length = Uint8Array.of(0, 64, 0);
  const first = await hash(new Uint8Array(128), message, length, ending);
  return hash(first, Uint8Array.of(1), ending);
}

async function hashToGroup(message) {
  const bytes = await expand(message, "HashToGroup-");
  return add(mapToPoint(bytes.subarray(0, 32)), mapToPoint(bytes.subarray(32)));
}

async function hashToScalar(message) {
  return mod(readNumber(await expand(message, "HashToScalar-")), ORDER);
}

export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function fromHex(string) {
  if (!/^([0-9a-f]{2})*$/.test(string)) throw new Error(DAMAGED);
  return Uint8Array.from(string.match(/../g) || [], (pair) => parseInt(pair, 16));
}

// ------------------------------------------------------------------ the protocol

/** Blind a number: what the issuer gets tells nothing about it. */
export async function blind(number, factor) {
  const point = await hashToGroup(number);
  return encodePoint(multiply(factor, point));
}

/** Whether the issuer has used the key that it uses for everybody (a proof of equal logarithms). */
export async function isProved(key, blinded, evaluated, proof) {
  const [c, s] = [readNumber(proof.subarray(0, 32)), readNumber(proof.subarray(32))];
  if (proof.length !== 64 || c >= ORDER || s >= ORDER) return false;
  const seed = await hash(withLength(key), withLength(text(`Seed-${CONTEXT}`)));
  const weight = await hashToScalar(
    join(
      withLength(seed),
      Uint8Array.of(0, 0),
      withLength(blinded),
      withLength(evaluated),
      text("Composite"),
    ),
  );
  const m = multiply(weight, decodePoint(blinded));
  const z = multiply(weight, decodePoint(evaluated));
  const t2 = add(multiply(s, basePoint()), multiply(c, decodePoint(key)));
  const t3 = add(multiply(s, m), multiply(c, z));
  const told = [m, z, t2, t3].map((point) => withLength(encodePoint(point)));
  return (await hashToScalar(join(withLength(key), ...told, text("Challenge")))) === c;
}

/** What the function has for a number, from what it has for the blinded one. */
export async function unblind(number, factor, evaluated) {
  const point = multiply(invert(factor, ORDER), decodePoint(evaluated));
  return hash(withLength(number), withLength(encodePoint(point)), text("Finalize"));
}

/** A random scalar from the operating system, not 0. */
function drawFactor() {
  for (;;) {
    const factor = mod(readNumber(globalThis.crypto.getRandomValues(new Uint8Array(64))), ORDER);
    if (factor) return factor;
  }
}

/** A number that nobody else knows, blinded; "text" is for the issuer, the rest stays here. */
export async function requestToken() {
  const number = globalThis.crypto.getRandomValues(new Uint8Array(NUMBER_BYTES));
  const factor = drawFactor();
  return { number, factor, text: toHex(await blind(number, factor)) };
}

/** The token, if the issuer has used the key that stands in the plan. */
export async function finishToken(asked, response, publicKey) {
  const bytes = fromHex(response.trim());
  const [proof, evaluated] = [bytes.subarray(0, 64), bytes.subarray(64)]; // as voprf writes both
  const key = fromHex(publicKey);
  if (!(await isProved(key, fromHex(asked.text), evaluated, proof))) throw new Error(DAMAGED);
  const output = await unblind(asked.number, asked.factor, evaluated);
  return toHex(asked.number) + toHex(output.subarray(0, NUMBER_BYTES));
}
