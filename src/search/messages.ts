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
