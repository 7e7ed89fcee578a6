// The words of a search: the messages that are looked at. Where they come from is reading.ts, how they are kept blocks.ts.

/** A message that is searched. Its text is well-formed Unicode. */
export interface SearchMessage {
  readonly seq: number
  readonly role: SearchRole
  /** Whether a compaction left it. */
  readonly checkpoint: boolean
  readonly text: string
  /** Seq of the event that took its place on the surface; absent while it stands there. */
  readonly shadowedBySeq?: number
}

/** Who said it; the results of tools are searched only when asked for. */
export type SearchRole = 'user' | 'assistant' | 'tool'

/** A seq, and that of the event that took its place. */
export type Shadowing = readonly [seq: number, bySeq: number]

/** A first message is there to know a session by, not to be read. */
const FIRST_LINE_LENGTH = 200

/** The beginning of a text as one line; `undefined` when there is nothing to see in it. */
export function firstLineOf(text: string): string | undefined {
  const line = text
    .slice(0, 4 * FIRST_LINE_LENGTH)
    .replace(/\s+/g, ' ')
    .trim()
  if (line === '') return undefined
  return line.length <= FIRST_LINE_LENGTH ? line : `${line.slice(0, FIRST_LINE_LENGTH - 1).trimEnd()}…`.toWellFormed()
}
