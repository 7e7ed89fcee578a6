// Reads log files with either zstd decoder: in this process, or, as a program of its own, under a newer Node whose node:zlib
// has zstd.

import { fileURLToPath } from 'node:url'
import type { DecodeLimits } from '../../src/decode/limits.ts'
import { DshRefError, type LogEncoding, project, readSurface } from '../../src/index.ts'
import { answerAll, programUnder } from './answering-program.ts'
import { newerNode, whyNoNewerNode } from './newer-node.ts'

/** One read of a file. */
export interface LogCase {
  readonly path: string
  readonly encoding: LogEncoding
  readonly mode?: 'native' | 'historical'
  readonly limits?: Partial<DecodeLimits>
}

/** What a reader says of a log: what it holds, or the facts of the refusal. */
export type LogOutcome =
  | {
      readonly nodes: readonly number[]
      readonly texts: readonly string[]
      readonly capturedThroughSeq: number | null
      readonly title: string | undefined
      readonly isTorn: boolean
      /** Kinds, in order. */
      readonly issues: readonly string[]
    }
  | { readonly refused: Readonly<Record<string, unknown>>; readonly message: string }

/** Facts that must be equal for both decoders and that a person is told. */
const FACTS = ['reason', 'rule', 'frame', 'line', 'seq', 'limit', 'expected', 'actual', 'throughSeq'] as const

/** Reads one log in this process. */
export async function readLog(logCase: LogCase, decoder: 'native' | 'javascript' = 'javascript'): Promise<LogOutcome> {
  const { path, encoding, mode = 'native', limits = {} } = logCase
  try {
    const surface = await readSurface({ kind: 'file', path, encoding, mode }, { decoder, limits })
    const { nodes, capturedThroughSeq, title, isTorn, issues } = surface
    const texts = project(surface.messages).messages.map((message) => message.text)
    return { nodes, texts, capturedThroughSeq, title, isTorn, issues: issues.map(({ kind }) => kind) }
  } catch (error) {
    if (!(error instanceof DshRefError)) throw error
    const { facts, message } = error
    const refused = Object.fromEntries(FACTS.filter((name) => name in facts).map((name) => [name, facts[name]]))
    return { refused, message }
  }
}

/** Reads logs with the native decoder: here if this Node has it, else under a newer one. Throws when there is none. */
export async function readLogsNatively(cases: readonly LogCase[]): Promise<LogOutcome[]> {
  const node = await newerNode()
  if (!node) throw new Error(await whyNoNewerNode())
  return (await programUnder(node, fileURLToPath(import.meta.url))(cases)) as LogOutcome[]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await answerAll(async (cases: readonly LogCase[]) => {
    const outcomes: LogOutcome[] = []
    for (const logCase of cases) outcomes.push(await readLog(logCase, 'native'))
    return outcomes
  })
}
