// Titles: what one `session/title` event names, and the label a session is shown under. Which event is the latest is up
// to the reader of the log.

/** The title in the payload of a `session/title` event, exactly as stored; `undefined` when it holds no string. */
export function titleOf(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null || !('title' in data)) return undefined
  return typeof data.title === 'string' ? data.title : undefined
}

/** The label of a session: its latest title, else its id. An empty title shows nobody anything, so the id stands in. */
export function labelOf(title: string | undefined, sessionId: string): string {
  return title === undefined || title === '' ? sessionId : title
}
