// Walks over JSON in bytes and makes nothing of it. Every function returns the offset behind what it walked over, or −1.
// An offset means that JSON.parse takes the text too; −1 is no verdict, since it also stands for JSON spelled as no writer
// of logs spells it (blanks, deep nesting), which JSON.parse then judges.

const QUOTE = 0x22
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const LETTER_E = 0x65
const BRACKET_OPEN = 0x5b
const BACKSLASH = 0x5c
const BRACKET_CLOSE = 0x5d
const LETTER_U = 0x75
const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d

/** Containers inside one another; honest rows have a dozen. */
const MAX_DEPTH = 64

/** 1 for bytes that stand for themselves in a string. All of UTF-8 beyond ASCII does, and so do bytes that are no UTF-8. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 0 : 1,
)

const ESCAPED = new Set([...'"\\/bfnrt'].map((letter) => letter.charCodeAt(0)))

const TRUE = bytesOf('true')
const FALSE = bytesOf('false')
const NULL = bytesOf('null')

/** The bytes of an ASCII text. */
export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** Whether `wanted` stands at `at`. */
export function hasBytes(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let index = 0; index < wanted.length; index++) if (bytes[at + index] !== wanted[index]) return false
  return true
}

/** Walks over any value. */
export function skipValue(bytes: Uint8Array, at: number, end: number, depth = 0): number {
  switch (bytes[at]) {
    case QUOTE:
      return skipString(bytes, at, end)
    case BRACE_OPEN:
      return skipObject(bytes, at, end, depth)
    case BRACKET_OPEN:
      return skipArray(bytes, at, end, depth)
    case TRUE[0]:
      return skipWord(bytes, at, end, TRUE)
    case FALSE[0]:
      return skipWord(bytes, at, end, FALSE)
    case NULL[0]:
      return skipWord(bytes, at, end, NULL)
    default:
      return skipNumber(bytes, at, end)
  }
}

/** Walks over a string; `at` is its opening quote. */
export function skipString(bytes: Uint8Array, at: number, end: number): number {
  if (bytes[at] !== QUOTE) return -1
  let next = at + 1
  while (next < end) {
    const byte = bytes[next] as number
    if (PLAIN[byte] === 1) next++
    else if (byte === QUOTE) return next + 1
    else if (byte !== BACKSLASH) return -1
    else {
      const escaped = bytes[next + 1] as number
      if (ESCAPED.has(escaped)) next += 2
      else if (escaped === LETTER_U && isHex4(bytes, next + 2)) next += 6
      else return -1
    }
  }
  return -1
}

/** Walks over an array. */
export function skipArray(bytes: Uint8Array, at: number, end: number, depth = 0): number {
  if (bytes[at] !== BRACKET_OPEN || depth === MAX_DEPTH) return -1
  let next = at + 1
  if (bytes[next] === BRACKET_CLOSE) return next + 1
  for (;;) {
    next = skipValue(bytes, next, end, depth + 1)
    if (next === -1 || next >= end) return -1
    const byte = bytes[next++]
    if (byte === BRACKET_CLOSE) return next
    if (byte !== COMMA) return -1
  }
}

/** Walks over an object. */
export function skipObject(bytes: Uint8Array, at: number, end: number, depth = 0): number {
  if (bytes[at] !== BRACE_OPEN || depth === MAX_DEPTH) return -1
  let next = at + 1
  if (bytes[next] === BRACE_CLOSE) return next + 1
  for (;;) {
    next = skipString(bytes, next, end)
    if (next === -1 || bytes[next] !== COLON) return -1
    next = skipValue(bytes, next + 1, end, depth + 1)
    if (next === -1 || next >= end) return -1
    const byte = bytes[next++]
    if (byte === BRACE_CLOSE) return next
    if (byte !== COMMA) return -1
  }
}

/** Walks over a number. */
export function skipNumber(bytes: Uint8Array, at: number, end: number): number {
  let next = bytes[at] === MINUS ? at + 1 : at
  const isZero = bytes[next] === ZERO
  const whole = next
  next = skipDigits(bytes, next, end)
  if (next === -1 || (isZero && next > whole + 1)) return -1
  if (bytes[next] === POINT) {
    next = skipDigits(bytes, next + 1, end)
    if (next === -1) return -1
  }
  if (((bytes[next] as number) | 0x20) === LETTER_E) {
    const sign = bytes[next + 1]
    next = skipDigits(bytes, sign === PLUS || sign === MINUS ? next + 2 : next + 1, end)
  }
  return next
}

function skipDigits(bytes: Uint8Array, at: number, end: number): number {
  let next = at
  while (next < end && (bytes[next] as number) >= ZERO && (bytes[next] as number) <= NINE) next++
  return next === at ? -1 : next
}

function skipWord(bytes: Uint8Array, at: number, end: number, word: Uint8Array): number {
  return at + word.length <= end && hasBytes(bytes, at, word) ? at + word.length : -1
}

function isHex4(bytes: Uint8Array, at: number): boolean {
  for (let index = at; index < at + 4; index++) {
    const byte = (bytes[index] as number) | 0x20
    const isDigit = (bytes[index] as number) >= ZERO && (bytes[index] as number) <= NINE
    if (!isDigit && !(byte >= 0x61 && byte <= 0x66)) return false
  }
  return true
}
