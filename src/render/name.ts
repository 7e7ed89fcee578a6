// What a person reads a session under: its title, else the beginning of its first message, marked as no title. Labels, which
// programs read, are project/title.ts.

/** A session, as far as it is known by a name. */
export interface NamedRow {
  readonly title?: string | undefined
  readonly firstMessage?: string | undefined
}

/** Stands in the place of a title, with the first message behind it. */
export const NO_TITLE = '(no title)'

/** Characters of the first message that stand for a title: as many as most titles have. */
const SHOWN_CHARACTERS = 30

/** The name of a session without a title; `undefined` when it has one, or said nothing to be known by. */
export function untitledName({ title, firstMessage }: NamedRow): string | undefined {
  if (title !== undefined || firstMessage === undefined) return undefined
  const characters = [...firstMessage]
  const shown = characters.slice(0, SHOWN_CHARACTERS - 1).join('')
  return `${NO_TITLE} ${characters.length <= SHOWN_CHARACTERS ? firstMessage : `${shown.trimEnd()}…`}`
}
