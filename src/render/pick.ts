// The screen of `dsh-ref pick`: a line to search in, the sessions that match, and the end of the one under the cursor.

import { cutToWidth, displayWidth, padToWidth, visible } from './text.ts'

/** Lines of sessions shown at a time, and lines of the preview. */
const LIST_LINES = 10
const PREVIEW_LINES = 8

const NAME_COLUMNS = 44
const ID_COLUMNS = 24

/** Pointer and mark in front of a session. */
const MARK_COLUMNS = 6

/** One session to pick. */
export interface PickedRow {
  readonly sessionId: string
  /** Its title, or what stands in for one. */
  readonly name: string
  readonly isTitle: boolean
  readonly cwd: string | undefined
}

/** What is on the screen. */
export interface PickScreen {
  /** What was typed, with its cursor. */
  readonly typed: string
  readonly rows: readonly PickedRow[]
  readonly cursor: number
  readonly picked: ReadonlySet<string>
  /** Texts of the newest messages, oldest first; `undefined` while they are read. */
  readonly preview: readonly { readonly role: string; readonly text: string }[] | undefined
  /** Of a search for what was said: how far it is, or the lines with matches of the session under the cursor. */
  readonly said?: { readonly progress: string } | { readonly lines: readonly string[] | undefined } | undefined
  /** Sessions that are not offered because there are too many. */
  readonly omitted: number
  readonly error: string
  readonly columns: number
  /** Makes a text dim; default: not at all. */
  readonly dim?: ((text: string) => string) | undefined
}

/** The screen as lines that fit the terminal. */
export function renderPick(screen: PickScreen): string {
  const { typed, rows, cursor, picked, preview, said, omitted, error, columns, dim = (text) => text } = screen
  const width = Math.max(20, columns - 1)
  const start = Math.max(0, Math.min(cursor - Math.floor(LIST_LINES / 2), rows.length - LIST_LINES))
  const shown = rows.slice(start, start + LIST_LINES)
  const widthOf = (cell: (row: PickedRow) => string, most: number) =>
    Math.min(most, Math.max(0, ...shown.map((row) => displayWidth(visible(cell(row))))))
  const names = widthOf(({ name }) => name, NAME_COLUMNS)
  const ids = widthOf(({ sessionId }) => sessionId, ID_COLUMNS)
  const lines = shown.map((row, index) => {
    const mark = picked.has(row.sessionId) ? '[x]' : '[ ]'
    const pointer = start + index === cursor ? '>' : ' '
    const name = padToWidth(visible(row.name), Math.min(names, width - MARK_COLUMNS))
    const others = `  ${padToWidth(visible(row.sessionId), ids)}  ${visible(row.cwd ?? '-')}`
    const room = width - MARK_COLUMNS - displayWidth(name)
    return `${pointer} ${mark} ${row.isTitle ? name : dim(name)}${cutToWidth(others, room)}`
  })
  const more = omitted === 0 ? '' : ` (${omitted} more not offered, see --limit)`
  const sessions = `${rows.length} ${rows.length === 1 ? 'session' : 'sessions'}`
  const found = said && 'lines' in said ? `Said in ${sessions}` : `${sessions}${more}`
  const count = `${said && 'progress' in said ? said.progress : found}, ${picked.size} of 3 marked`
  return [
    cutToWidth('Type to search; Ctrl-F: in what was said. Tab marks, Enter takes, Esc leaves.', width),
    `Search: ${typed}`,
    ...lines,
    error === '' ? cutToWidth(count, width) : cutToWidth(`! ${error}`, width),
    ...(rows.length === 0 ? [] : said && 'lines' in said ? saidLines(said.lines, width) : previewLines(preview, width)),
  ].join('\n')
}

function saidLines(lines: readonly string[] | undefined, width: number): string[] {
  const rule = '-'.repeat(Math.min(width, 40))
  if (lines === undefined) return [rule, 'Reading …']
  // What was looked for may be in its names.
  return [rule, ...(lines.length === 0 ? ['No line of it holds any of the words.'] : lines)]
}

function previewLines(preview: PickScreen['preview'], width: number): string[] {
  const rule = '-'.repeat(Math.min(width, 40))
  if (preview === undefined) return [rule, 'Reading …']
  if (preview.length === 0) return [rule, 'Nothing was said yet.']
  const lines = preview.flatMap(({ role, text }) => {
    const all = text.split('\n').filter((line) => line.trim() !== '')
    return all.map((line, index) => cutToWidth(`${index === 0 ? `${role}: ` : '  '}${visible(line)}`, width))
  })
  return [rule, ...lines.slice(-PREVIEW_LINES)]
}
