// A search as one would write it in ten lines: every log read whole, every line of what `transcript --include-shadowed` holds
// looked at. Slow, and easy to believe.

import { readFileSync } from 'node:fs'
import { readSalvaged } from '../../src/fold/salvage.ts'
import { project } from '../../src/project/project.ts'
import { foldedText } from '../../src/text/folded-text.ts'

/** A line that holds what was looked for. */
export interface NaiveLine {
  readonly seq: number
  readonly role: string
  readonly line: number
  readonly text: string
  readonly shadowedBySeq: number | undefined
}

/** All lines of the log at `path`, in log order; none for a log that cannot be read at all. */
export async function naiveLines(path: string): Promise<readonly NaiveLine[]> {
  const encoding = path.endsWith('.zstd') ? 'zstd' : 'raw'
  const keepsShadowed = ({ type }: { readonly type: string }) => type === 'user/message' || type === 'assistant/message'
  const surface = await readSalvaged({ kind: 'file', path, encoding }, { keepsShadowed }).catch(() => undefined)
  if (!surface) return []
  const bySeq = new Map(surface.shadowed.map(({ message, shadowedBySeq }) => [message.seq, shadowedBySeq]))
  const messages = project([...surface.messages, ...surface.shadowed.map(({ message }) => message)]).messages
  return messages
    .sort((one, other) => one.seq - other.seq)
    .flatMap(({ seq, role, text }) =>
      text
        .toWellFormed()
        .split('\n')
        .map((line, index) => ({ seq, role, line: index + 1, text: line, shadowedBySeq: bySeq.get(seq) })),
    )
}

/** Words of a log's conversation as they stand in its bytes: something to look for that is mostly there. */
export function wordsIn(path: string, count: number): string[] {
  const words = readFileSync(path, 'latin1').match(/[A-Za-z]{4,12}/g) ?? []
  const step = Math.max(1, Math.floor(words.length / count))
  return words.filter((_, index) => index % step === 0).slice(0, count)
}

/** Whether a line holds a text, whatever its case and normalisation. */
export function holdsFolded(wanted: string): (line: string) => boolean {
  return (line) => foldedText(line).includes(foldedText(wanted))
}
