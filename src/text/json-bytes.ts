// Tag-safe JSON and how many UTF-8 bytes texts take in it, counted without building them. Which text is kept is up to
// retain.ts; the tags around the JSON belong to render/.

/**
 * Bytes an ASCII character takes in tag-safe JSON beyond its own: `"`, `\` and the five short escapes 1, `<` and the
 * other control characters 5.
 */
const ASCII_ESCAPE_BYTES = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const written = tagSafeJson(String.fromCharCode(code))
  return written.length - '"c"'.length
})

/** Characters, entries and levels of a value that a message or a fact has room for. */
const BRIEF_LENGTH = 80
const BRIEF_ENTRIES = 8
const BRIEF_DEPTH = 3

/** A JSON value from a log, cut to what a message has room for; it may be megabytes long, or nest deeper than the stack. */
export function brief(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') {
    return (value.length <= BRIEF_LENGTH ? value : `${value.slice(0, BRIEF_LENGTH)}…`).toWellFormed()
  }
  if (typeof value !== 'object' || value === null) return value
  if (depth === BRIEF_DEPTH) return '…'
  if (Array.isArray(value)) {
    const entries = value.slice(0, BRIEF_ENTRIES).map((entry) => brief(entry, depth + 1))
    return value.length <= BRIEF_ENTRIES ? entries : [...entries, '…']
  }
  const entries = Object.entries(value)
  const shown = entries.slice(0, BRIEF_ENTRIES).map(([key, entry]) => [brief(key), brief(entry, depth + 1)])
  return Object.fromEntries(entries.length <= BRIEF_ENTRIES ? shown : [...shown, ['…', entries.length]])
}

/** A text from a log, cut like `brief`. */
export function briefText(text: string): string {
  return brief(text) as string
}

/** Characters of a value that stands in a sentence. */
const SHORT_LENGTH = 80

/** A value in a sentence: its JSON, or the beginning of it; `nothing` for none. */
export function shortJson(value: unknown): string {
  const json = JSON.stringify(value) ?? 'nothing'
  return json.length <= SHORT_LENGTH ? json : `${json.slice(0, SHORT_LENGTH).toWellFormed()}…`
}

/**
 * Serialises a value as JSON that every parser takes: half a surrogate pair, which `JSON.stringify` writes as an escape
 * that strict parsers refuse, becomes U+FFFD. Values that must come back exactly go through `JSON.stringify`.
 */
export function strictJson(value: unknown): string {
  const json = JSON.stringify(value)
  // Whole pairs are never written as escapes. An escaped backslash is passed over, so that it cannot pose as one.
  return json.includes('\\ud')
    ? json.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|.)/g, (sequence, half) => (half === undefined ? sequence : '\ufffd'))
    : json
}

/** Serialises a JSON value so that no `<` is left in it and it can close no tag (DESIGN.md section 3, "Budget"). */
export function tagSafeJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c')
}

/** UTF-8 bytes of the tag-safe JSON of a string, quotes included; a lone surrogate counts as its escape. */
export function tagSafeStringBytes(text: string): number {
  const units = text.length
  let bytes = units + '""'.length
  for (let index = 0; index < units; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x80) bytes += ASCII_ESCAPE_BYTES[code] as number
    else if (code < 0x800) bytes += 1
    else if (!isSurrogate(code)) bytes += 2
    else if (isPairAt(text, index)) {
      bytes += 2
      index += 1
    } else bytes += '\\udc00'.length - 1
  }
  return bytes
}

/** Whether a text is ASCII: as many bytes as UTF-16 units. */
export function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length
}

/** JSON in ASCII: it is decoded in a third of the time, and is as many bytes as characters. */
export function asciiOf(json: string): string {
  return isAscii(json) ? json : json.replace(/[\u0080-\uffff]/g, escapeUnit)
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** UTF-8 bytes of a text as TextEncoder writes it: a lone surrogate counts 3, the length of the U+FFFD put in its place. */
export function utf8Bytes(text: string): number {
  const units = text.length
  let bytes = units
  for (let index = 0; index < units; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x80) continue
    if (code < 0x800) bytes += 1
    else {
      bytes += 2
      // Two units, four bytes: what the first adds covers both.
      if (isSurrogate(code) && isPairAt(text, index)) index += 1
    }
  }
  return bytes
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff
}

/** True for the first half of a whole pair. Past the end `charCodeAt` is NaN and compares false. */
function isPairAt(text: string, index: number): boolean {
  if (text.charCodeAt(index) > 0xdbff) return false
  const next = text.charCodeAt(index + 1)
  return next >= 0xdc00 && next <= 0xdfff
}
