// What `prepare --dry-run` and `--explain` say: how much of each source is kept, and what it costs.

import { textlessSentence } from '../project/project.ts'
import type { Redacted } from '../secrets/kinds.ts'
import type { ReferenceFacts } from '../types.ts'
import { cutToWidth, displayWidth, padToWidth, visible } from './text.ts'

/** Bytes a token is taken for. Only an estimate: every model counts otherwise. */
const BYTES_PER_TOKEN = 4

const LABEL_COLUMNS = 40

/** One source as `prepare` cuts it. */
export interface PlannedSource extends Omit<ReferenceFacts, 'inputIndex'> {
  readonly usedBytes: number
  readonly budgetBytes: number
  readonly estimatedTokens: number
  /** Turns of the person that are images or files only, which no snapshot shows; absent for none. */
  readonly turnsWithoutText?: number
}

/** What `prepare` would print. */
export interface Plan {
  readonly schemaVersion: 1
  readonly sources: readonly PlannedSource[]
  /** The readable message and the snapshot, as text. */
  readonly message: { readonly bytes: number; readonly estimatedTokens: number }
  readonly snapshot: { readonly bytes: number; readonly estimatedTokens: number }
  /** What is masked; absent without `--redact`. */
  readonly redacted?: Redacted
}

/** Makes the plan of a prepared message. */
export function planOf(
  sources: readonly ({ readonly facts: ReferenceFacts } & Pick<
    PlannedSource,
    'usedBytes' | 'budgetBytes' | 'turnsWithoutText'
  >)[],
  messageBytes: number,
  snapshotBytes: number,
  redacted?: Redacted,
): Plan {
  const size = (bytes: number) => ({ bytes, estimatedTokens: tokensOf(bytes) })
  return {
    schemaVersion: 1,
    sources: sources.map(({ facts: { inputIndex: _, ...facts }, usedBytes, budgetBytes, turnsWithoutText }) => ({
      ...facts,
      usedBytes,
      budgetBytes,
      estimatedTokens: tokensOf(usedBytes),
      ...(turnsWithoutText !== undefined && { turnsWithoutText }),
    })),
    message: size(messageBytes),
    snapshot: size(snapshotBytes),
    ...(redacted && { redacted }),
  }
}

/** The plan as a table and one sentence. */
export function renderPlan({ sources, snapshot, redacted }: Plan): string {
  if (sources.length === 0) return 'The message refers to no session; it would be printed unchanged.\n'
  const rows = [
    ['LABEL', 'KEPT', 'DROPPED', 'BYTES', 'OF BUDGET', '~TOKENS'],
    ...sources.map((source) => [
      cutToWidth(visible(source.label), LABEL_COLUMNS),
      `${source.retainedMessages} of ${source.originalMessages}`,
      source.omittedBytes > 0 ? `${source.omittedMessages} (${source.omittedBytes} bytes)` : '0',
      String(source.usedBytes),
      `${source.budgetBytes} (${Math.ceil((100 * source.usedBytes) / source.budgetBytes)} %)`,
      String(source.estimatedTokens),
    ]),
  ]
  const widths = (rows[0] as string[]).map((_, column) =>
    Math.max(...rows.map((row) => displayWidth(row[column] ?? ''))),
  )
  const lines = rows.map((row) =>
    row.map((cell, column) => padToWidth(cell, widths[column] as number, column === 0 ? 'end' : 'start')).join('  '),
  )
  const total = `The snapshot has ${snapshot.bytes} bytes, about ${snapshot.estimatedTokens} tokens (an estimate: bytes / ${BYTES_PER_TOKEN}).`
  const textless = sources.flatMap(({ label, turnsWithoutText = 0 }) => {
    const sentence = textlessSentence(turnsWithoutText)
    return sentence === undefined ? [] : [`${visible(label)}: ${sentence}`]
  })
  const masked = redacted ? [maskedSentence(redacted)] : []
  return [...lines.map((line) => line.trimEnd()), '', ...textless, ...masked, total].map((line) => `${line}\n`).join('')
}

function maskedSentence({ total, byKind }: Redacted): string {
  const kinds = Object.entries(byKind).map(([kind, count]) => `${count} ${kind}`)
  return total === 0 ? 'No secrets were found to mask.' : `Secrets masked: ${total} (${kinds.join(', ')}).`
}

function tokensOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}
