// Cuts a conversation into pages of so many bytes. A page ends between two messages, or inside one that is larger than a page.

import { invalidReference } from '../errors.ts'
import { utf8Bytes } from '../text/json-bytes.ts'
import type { ProjectedMessage } from '../types.ts'

/** A message, or a part of it, as it stands on a page. */
export interface PageEntry {
  readonly seq: number
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** Characters of the message on earlier pages; absent for none. */
  readonly offset?: number
  /** Set when the rest of the message is on the next page. */
  readonly continues?: true
}

/** A page, and where the next one begins; no cursor on the last. */
export interface Page {
  readonly entries: readonly PageEntry[]
  readonly nextCursor: string | undefined
}

/**
 * The page of at most `maxBytes` UTF-8 bytes of text that begins at `cursor`, at the first message without one. There is
 * progress on every page. Throws `INVALID_REFERENCE` for a cursor that is none, or whose message is no longer there.
 */
export function pageOf(messages: readonly ProjectedMessage[], cursor: string | undefined, maxBytes: number): Page {
  const entries: PageEntry[] = []
  let { index, offset } = startOf(messages, cursor)
  let left = maxBytes
  for (; index < messages.length; index++, offset = 0) {
    const { seq, role, text } = messages[index] as ProjectedMessage
    const rest = text.slice(offset)
    const bytes = utf8Bytes(rest)
    // Only what would not fit a page of its own is cut; the first entry always gets something.
    if (bytes > left && entries.length > 0 && bytes <= maxBytes) break
    const part = bytes <= left ? rest : startWithin(rest, left, entries.length === 0)
    if (part === '' && rest !== '' && entries.length > 0) break
    const isWhole = part.length === rest.length
    entries.push({ seq, role, text: part, ...(offset > 0 && { offset }), ...(!isWhole && { continues: true }) })
    if (!isWhole) return { entries, nextCursor: `${seq}:${offset + part.length}` }
    left -= bytes
  }
  const next = messages[index]
  return { entries, nextCursor: next && `${next.seq}:${offset}` }
}

/** Seqs, not positions: a log may grow, or be compacted, between two pages. */
function startOf(messages: readonly ProjectedMessage[], cursor: string | undefined): { index: number; offset: number } {
  if (cursor === undefined) return { index: 0, offset: 0 }
  const [, seq, characters] = /^(\d{1,16}):(\d{1,16})$/.exec(cursor) ?? []
  const index = messages.findIndex((message) => message.seq === Number(seq))
  const offset = Number(characters)
  const message = messages[index]
  if (message && offset <= message.text.length) return { index, offset }
  throw invalidReference(
    `The cursor ${JSON.stringify(cursor)} leads to no message; the session may have been compacted since. Read on from its beginning, without a cursor`,
    { cursor },
  )
}

/** The longest beginning of so many bytes that ends between two code points; one of them at least, if there must be some. */
function startWithin(text: string, maxBytes: number, mustBeSome: boolean): string {
  let bytes = 0
  let end = 0
  for (const character of text) {
    bytes += utf8Bytes(character)
    if (bytes > maxBytes && (end > 0 || !mustBeSome)) break
    end += character.length
    if (bytes >= maxBytes) break
  }
  return text.slice(0, end)
}
