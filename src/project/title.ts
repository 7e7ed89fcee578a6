// Titles: what one `session/title` event names, the label a session is shown under, and what a session without a title is
// known by. Which event is the latest is up to the reader of the log.

import type { SurfaceMessage } from '../types.ts'
import { project } from './project.ts'

/** The title in the payload of a `session/title` event, exactly as stored; `undefined` when it holds no string. */
export function titleOf(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null || !('title' in data)) return undefined
  return typeof data.title === 'string' ? data.title : undefined
}

/** Characters that show nobody anything: white space, controls, joiners and fillers. */
const BLANK = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u

/** A title that shows something; `undefined` for a blank one, which is as none. */
export function shownTitle(title: string | undefined): string | undefined {
  return title === undefined || BLANK.test(title) ? undefined : title
}

/** The label of a session: its latest title, else its id, which also stands in for a blank title. */
export function labelOf(title: string | undefined, sessionId: string): string {
  return shownTitle(title) ?? sessionId
}

/** A first message is there to know a session by, not to be read. */
const FIRST_LINE_LENGTH = 200

/**
 * The beginning of what the user says in a message, as one line of well-formed Unicode; `undefined` when it is another's,
 * a checkpoint, or shows nothing.
 */
export function openingOf(message: SurfaceMessage): string | undefined {
  const [projected] = project([message]).messages
  return projected?.role === 'user' && !projected.checkpoint ? firstLineOf(projected.text) : undefined
}

/** The beginning of a text as one line; one that is cut ends in `…`. */
export function firstLineOf(text: string): string | undefined {
  const first = Math.max(0, text.search(/\S/))
  const line = text
    .slice(first, first + 4 * FIRST_LINE_LENGTH)
    .replace(/\s+/g, ' ')
    .trim()
  const isCut = line.length > FIRST_LINE_LENGTH || text.length > first + 4 * FIRST_LINE_LENGTH
  const shown = isCut ? `${line.slice(0, FIRST_LINE_LENGTH - 1).replace(/[\ud800-\udbff]$/, '')}…` : line
  return shownTitle(shown.toWellFormed())
}
