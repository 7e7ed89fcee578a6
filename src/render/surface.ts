// What `surface` shows a person: a line for each event on the surface, a line for each replacement. Strings only.

import type { Degraded, Replacement, SessionHeader, SurfaceMessage } from '../types.ts'
import { cutToWidth, displayWidth, padToWidth, visible } from './text.ts'

/** Columns of a source kind; a log may name one of any length. */
const SOURCE_COLUMNS = 40

/** Characters of a text in the table. */
const TEXT_LENGTH = 200

/** One event of the surface as data. */
export interface SurfaceItem {
  readonly seq: number
  readonly type: SurfaceMessage['type']
  readonly role: SurfaceMessage['role']
  readonly sourceKind: string
  /** Whether its text goes into a snapshot. */
  readonly projected: boolean
  readonly checkpoint: boolean
  /** UTF-8 bytes. */
  readonly textBytes: number
}

/** What the table is made of. */
export interface SurfaceView {
  readonly header: SessionHeader
  readonly formatVersion: number
  readonly capturedThroughSeq: number | null
  readonly replacements: readonly Replacement[]
  readonly messages: readonly SurfaceMessage[]
  readonly degraded?: Degraded
}

/** The table of a surface, with a newline at its end. `columns` is the width of the terminal, if it is one. */
export function renderSurface(
  surface: SurfaceView,
  items: readonly SurfaceItem[],
  columns: number | undefined,
): string {
  const { header, formatVersion, capturedThroughSeq, replacements, degraded } = surface
  const fit = (line: string) => (columns === undefined ? line : cutToWidth(line, columns))
  const texts = new Map(surface.messages.map((message) => [message.seq, message.text]))
  const rows = items.map((item) => [
    String(item.seq),
    item.type,
    cutToWidth(visible(item.sourceKind.slice(0, SOURCE_COLUMNS + 1)), SOURCE_COLUMNS),
    item.checkpoint ? 'checkpoint' : item.projected ? 'projected' : '-',
    String(item.textBytes),
    visible(start(texts.get(item.seq) ?? '')),
  ])
  const through = capturedThroughSeq === null ? 'no events' : `through seq ${capturedThroughSeq}`
  const lines = [
    `${visible(header.id)}  version ${formatVersion}, ${through}, ${items.length} on the surface`,
    ...(degraded ? [visible(`Damaged: ${degraded.reason}`)] : []),
    '',
    ...table(['SEQ', 'TYPE', 'SOURCE', 'IN SNAPSHOT', 'BYTES', 'TEXT'], rows),
  ]
  if (replacements.length > 0) {
    lines.push('', 'Replacements')
    for (const { seq, start, end, shadowedSeqs } of replacements) {
      lines.push(
        `  seq ${seq} took the place of ${start} to ${end}: ${shadowedSeqs.length} shadowed (${shortList(shadowedSeqs)})`,
      )
    }
  }
  return `${lines.map(fit).join('\n')}\n`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  // Not Math.max of all at once: a surface of 200,000 messages is more than a call can take.
  const widths = head.map((title, column) =>
    column === head.length - 1
      ? 0
      : rows.reduce((width, row) => Math.max(width, displayWidth(row[column] ?? '')), displayWidth(title)),
  )
  const last = head.length - 1
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === last ? cell : padToWidth(cell, widths[column] ?? 0)))
      .join('  ')
      .trimEnd()
  return [line(head), ...rows.map(line)]
}

function start(text: string): string {
  return text.length <= TEXT_LENGTH ? text : `${text.slice(0, TEXT_LENGTH)}…`
}

function shortList(seqs: readonly number[]): string {
  return seqs.length <= 12 ? seqs.join(', ') : `${seqs.slice(0, 5).join(', ')}, … ${seqs.slice(-5).join(', ')}`
}
