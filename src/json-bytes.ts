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
