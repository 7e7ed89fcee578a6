// Finds private keys in PEM and its relatives (OpenSSH, PGP, SSH2, PuTTY): the whole block, and what is left of one whose
// end or beginning is cut off. By hand, since a block has any length.

import type { Find } from './kinds.ts'

const MARKER = /-{4,5} ?(BEGIN|END) (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g

/** What stands between the pieces of a body: white space, also written as an escape, and what quotes or numbers lines. */
const GAP = /(?:\\[nrt]|[\s"'`,+|>\\;-]|(?<=[\s\\nr])[0-9]{1,6}[\t→|:]){0,4096}/y
/** A header of an encrypted or armoured body, to the end of its line. */
const HEADER = /(?:Proc-Type|DEK-Info|Version|Comment|Subject|X-[A-Za-z-]{1,32}|Charset|Hash): ?[^\r\n\\]{0,200}/y
const BASE64 = /[A-Za-z0-9+/=]{1,65536}/y
const LINE_END = /\\[nr]|[\r\n"'`]|$/y

/** A shorter piece may be a word of the text around the key. */
const LEAST_LINE = 16
/** All lines but the first and the last one have 60 characters or more. */
const FULL_LINE = 60

/** Colours of a terminal, which end in a letter. */
const COLOUR = /(?:\u001b|\\u001b|\\x1b|\\e|\\033)\[[0-9;]{0,16}m/gi

/** All private keys of a text, in their order. */
export function findPrivateKeys(written: string): Find[] {
  if (!/PRIVATE KEY|Private-Lines: /.test(written)) return []
  const text = written.replace(COLOUR, (colour) => ' '.repeat(colour.length))
  const finds: Find[] = []
  if (text.includes('PRIVATE KEY')) {
    const markers = [...text.matchAll(MARKER)]
    for (const [index, marker] of markers.entries()) {
      const start = marker.index
      const end = start + marker[0].length
      const before = markers[index - 1]
      const next = markers[index + 1]
      if (marker[1] === 'BEGIN') {
        const isWhole = next?.[1] === 'END' && hasKey(text, end, next.index)
        const bodyEnd = isWhole ? next.index + next[0].length : bodyEndOf(text, end)
        if (bodyEnd > end) finds.push({ kind: 'private-key', start, end: bodyEnd })
      } else if (before?.[1] !== 'BEGIN') {
        const bodyStart = bodyStartOf(text, before === undefined ? 0 : before.index + before[0].length, start)
        if (bodyStart < start) finds.push({ kind: 'private-key', start: bodyStart, end })
      }
    }
  }
  if (text.includes('Private-Lines: ')) {
    for (const { index, 0: name } of text.matchAll(/Private-Lines: [0-9]{1,4}/g)) {
      const end = bodyEndOf(text, index + name.length)
      if (end > index + name.length) finds.push({ kind: 'private-key', start: index + name.length, end })
    }
  }
  return finds
}

/** The longest body that is taken for that of one key: text that only speaks of both markers may be as long as a book. */
const LONGEST_BODY = 65_536

/** Whether key material stands between two markers: right after the first one, or as two long lines anywhere. */
function hasKey(text: string, start: number, end: number): boolean {
  if (end - start > LONGEST_BODY) return false
  return (
    bodyEndOf(text, start) > start || /[A-Za-z0-9+/]{40}[\s\S]{1,999}[A-Za-z0-9+/]{40}/.test(text.slice(start, end))
  )
}

/** Where the body that begins at `start` ends; `start` itself where there is none. */
function bodyEndOf(text: string, start: number): number {
  let end = start
  let at = start
  let wasLine = false
  for (;;) {
    at = skip(GAP, text, at)
    const afterHeader = skip(HEADER, text, at)
    if (afterHeader > at) {
      at = afterHeader
      continue
    }
    const pieceEnd = skip(BASE64, text, at)
    const isLine = pieceEnd - at >= LEAST_LINE
    // The last line may have any length; a word of the text after the key is small, or does not end its line.
    const isLast = wasLine && /[A-Z0-9+/=]/.test(text.slice(at, pieceEnd)) && matchesAt(LINE_END, text, pieceEnd)
    if (!isLine && !isLast) return end
    end = at = pieceEnd
    wasLine = isLine
  }
}

/** Where the body that ends at `end` begins, not before `least`; `end` itself where there is none. */
function bodyStartOf(text: string, least: number, end: number): number {
  const pieces = /[A-Za-z0-9+/=]+/g
  const slice = text.slice(Math.max(least, end - LONGEST_BODY), end).replace(/\\[nrt]/g, '  ')
  const offset = end - slice.length
  const lines = [...slice.matchAll(pieces)].reverse()
  let start = end
  let isLast = true
  for (const [index, { 0: line, index: at }] of lines.entries()) {
    const gap = slice.slice(at + line.length, start - offset)
    if (!/^[\s"'`,+|>\\;]*$/.test(gap)) break
    const isFull = line.length >= FULL_LINE
    const isShortLast = isLast && (lines[index + 1]?.[0].length ?? 0) >= LEAST_LINE
    if (!isFull && !isShortLast && line.length < LEAST_LINE) break
    start = offset + at
    isLast = false
    if (!isFull && !isShortLast) break
  }
  return start
}

/** Where a sticky pattern that is tried at a place stops. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  const match = pattern.exec(text)
  return match === null ? at : at + match[0].length
}

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}
