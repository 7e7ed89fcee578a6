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
const BRACKET_OPEN = 0x5b
const BACKSLASH = 0x5c
const BRACKET_CLOSE = 0x5d
const LETTER_A = 0x61
const LETTER_E = 0x65
const LETTER_F = 0x66
const LETTER_U = 0x75
const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d
/** Turns an ASCII letter into its lower case. */
const LOWER = 0x20

/** Containers inside one another: as many as fit the bits of a small integer. Honest rows have a dozen. */
const MAX_DEPTH = 30

const ESCAPED = Uint8Array.from({ length: 128 }, (_, code) => ('"\\/bfnrt'.includes(String.fromCharCode(code)) ? 1 : 0))

/** Bytes of a string that are no more than themselves: all of UTF-8 beyond ASCII, and so are bytes that are no UTF-8. */
const STANDS_FOR_ITSELF = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
)

const TRUE = bytesOf('true')
const FALSE = bytesOf('false')
const NULL = bytesOf('null')

/** Digits of the largest number that is a safe integer whatever its digits are. */
const SAFE_DIGITS = 15

/** Reads non-negative integers as `JSON.stringify` writes them, if they are safe whatever their digits are. */
export class IntegerReader {
  /** The offset behind the last integer that was read. */
  end = 0

  /** The non-negative integer at `from`, or −1. */
  read(bytes: Uint8Array, from: number): number {
    let at = from
    let value = 0
    for (let digit = (bytes[at] as number) - ZERO; digit >= 0 && digit <= 9; digit = (bytes[at] as number) - ZERO) {
      value = value * 10 + digit
      at++
    }
    const digits = at - from
    if (digits === 0 || digits > SAFE_DIGITS || (digits > 1 && bytes[from] === ZERO)) return -1
    this.end = at
    return value
  }
}

/** The bytes of an ASCII text. */
export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** Whether `wanted` stands at `at`. */
export function hasBytes(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let index = 0; index < wanted.length; index++) if (bytes[at + index] !== wanted[index]) return false
  return true
}

/**
 * Walks over any value. One loop without recursion, because a call for each value takes half as long again: most values
 * are words of a dozen bytes.
 */
export function skipValue(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  let depth = 0
  /** The open containers, innermost last: 1 for an object, 0 for an array. */
  let isObject = 0
  for (;;) {
    const first = bytes[at]
    if (first === QUOTE) at = skipString(bytes, at, end)
    else if (first === BRACE_OPEN || first === BRACKET_OPEN) {
      if (depth === MAX_DEPTH) return -1
      depth++
      isObject = (isObject << 1) | (first === BRACE_OPEN ? 1 : 0)
      at++
      if (bytes[at] !== (first === BRACE_OPEN ? BRACE_CLOSE : BRACKET_CLOSE)) {
        if (first === BRACE_OPEN) at = skipKey(bytes, at, end)
        if (at === -1) return -1
        continue
      }
      at++
      depth--
      isObject >>= 1
    } else at = skipAtom(bytes, at, end)
    for (;;) {
      if (at === -1 || depth === 0) return at
      if (at >= end) return -1
      const next = bytes[at++]
      if (next === COMMA) break
      if (next !== ((isObject & 1) === 1 ? BRACE_CLOSE : BRACKET_CLOSE)) return -1
      depth--
      isObject >>= 1
    }
    if ((isObject & 1) === 1) {
      at = skipKey(bytes, at, end)
      if (at === -1) return -1
    }
  }
}

/** Walks over a string. */
export function skipString(bytes: Uint8Array, from: number, end: number): number {
  if (bytes[from] !== QUOTE) return -1
  let at = from + 1
  for (;;) {
    // Past the last byte there is nothing (`undefined`), which stops as well; the end is looked at once, not for each byte.
    while (STANDS_FOR_ITSELF[bytes[at] as number] === 1) at++
    const byte = bytes[at]
    if (byte === QUOTE) return at < end ? at + 1 : -1
    if (byte !== BACKSLASH) return -1
    at = escapeEnd(bytes, at + 1)
    if (at === -1) return -1
  }
}

/** Walks over a key and its colon. */
function skipKey(bytes: Uint8Array, from: number, end: number): number {
  const at = skipString(bytes, from, end)
  return at !== -1 && bytes[at] === COLON ? at + 1 : -1
}

/** Walks over what follows a backslash. */
function escapeEnd(bytes: Uint8Array, at: number): number {
  const escaped = bytes[at] as number
  if (ESCAPED[escaped] === 1) return at + 1
  if (escaped !== LETTER_U) return -1
  for (let index = at + 1; index <= at + 4; index++) {
    const byte = bytes[index] as number
    const letter = byte | LOWER
    if (!(byte >= ZERO && byte <= NINE) && !(letter >= LETTER_A && letter <= LETTER_F)) return -1
  }
  return at + 5
}

/** Walks over a number, true, false or null. */
function skipAtom(bytes: Uint8Array, at: number, end: number): number {
  switch (bytes[at]) {
    case TRUE[0]:
      return hasBytes(bytes, at, TRUE) ? at + TRUE.length : -1
    case FALSE[0]:
      return hasBytes(bytes, at, FALSE) ? at + FALSE.length : -1
    case NULL[0]:
      return hasBytes(bytes, at, NULL) ? at + NULL.length : -1
    default:
      return skipNumber(bytes, at, end)
  }
}

function skipNumber(bytes: Uint8Array, from: number, end: number): number {
  const whole = bytes[from] === MINUS ? from + 1 : from
  let at = skipDigits(bytes, whole, end)
  if (at === -1 || (bytes[whole] === ZERO && at > whole + 1)) return -1
  if (bytes[at] === POINT) {
    at = skipDigits(bytes, at + 1, end)
    if (at === -1) return -1
  }
  if (bytes[at] === LETTER_E || bytes[at] === LETTER_E - LOWER) {
    const sign = bytes[at + 1]
    at = skipDigits(bytes, sign === PLUS || sign === MINUS ? at + 2 : at + 1, end)
  }
  return at
}

function skipDigits(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at++
  return at === from ? -1 : at
}

/** Walks over a non-negative integer as `JSON.stringify` writes it, if it is safe whatever its digits are. */
export function skipInteger(bytes: Uint8Array, from: number): number {
  return skipped.read(bytes, from) === -1 ? -1 : skipped.end
}

const skipped = new IntegerReader()
