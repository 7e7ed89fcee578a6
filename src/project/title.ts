// Titles: what one `session/title` event names, and the label a session is shown under. Which event is the latest is up
// to the reader of the log.

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
