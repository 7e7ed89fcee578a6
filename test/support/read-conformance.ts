// Reads every log and artifact of the conformance folder with one zstd decoder. Runs inside a test, and as a program under
// a newer Node whose node:zlib has zstd: node test/support/read-conformance.ts native

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ZstdDecoder } from '../../src/decode/zstd.ts'
import { DshRefError, type LogEncoding, project, readSurface } from '../../src/index.ts'
import { CONFORMANCE } from './conformance.ts'

/** What one log gives, in the words of the expected files. */
export type ConformanceReading =
  | {
      readonly file: string
      readonly events: number
      readonly nodes: readonly number[]
      readonly replacements: readonly unknown[]
      readonly title: string | null
      readonly cwd: string | null
      readonly createdAt: number
      readonly conversation: readonly { role: string; text: string; checkpoint: boolean }[]
    }
  | { readonly file: string; readonly refused: string; readonly rule: unknown }

/** Reads all logs below the folder, in name order; `file` is relative to it. */
export async function readConformance(decoder: ZstdDecoder): Promise<ConformanceReading[]> {
  if (!CONFORMANCE) return []
  const readings: ConformanceReading[] = []
  for (const file of readdirSync(CONFORMANCE, { recursive: true, encoding: 'utf8' }).sort()) {
    const encoding: LogEncoding | undefined = file.endsWith('.jsonl')
      ? 'raw'
      : file.endsWith('.zstd')
        ? 'zstd'
        : undefined
    if (!encoding || file === 'logs/expected.jsonl') continue
    readings.push(await readOne(file, join(CONFORMANCE, file), encoding, decoder))
  }
  return readings
}

async function readOne(
  file: string,
  path: string,
  encoding: LogEncoding,
  decoder: ZstdDecoder,
): Promise<ConformanceReading> {
  try {
    const surface = await readSurface({ kind: 'file', path, encoding }, { decoder })
    return {
      file,
      events: (surface.capturedThroughSeq ?? -1) + 1,
      nodes: surface.nodes,
      replacements: surface.replacements,
      title: surface.title ?? null,
      cwd: surface.header.cwd ?? null,
      createdAt: surface.header.createdAt,
      conversation: project(surface.messages).messages.map(({ role, text, checkpoint }) => ({
        role,
        text: text.toWellFormed(),
        checkpoint,
      })),
    }
  } catch (error) {
    if (!(error instanceof DshRefError)) throw error
    return { file, refused: error.reason ?? error.code, rule: error.facts.rule ?? null }
  }
}

/** The rows of logs/expected.jsonl. */
export function expectedLogs(): Record<string, unknown>[] {
  if (!CONFORMANCE) return []
  const text = readFileSync(join(CONFORMANCE, 'logs/expected.jsonl'), 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const readings = await readConformance(process.argv[2] === 'native' ? 'native' : 'javascript')
  process.stdout.write(JSON.stringify(readings))
}
