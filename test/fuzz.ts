// Compares the quick reading, the complete reading and the slow reference on mutated logs of every version.
//   npm run fuzz -- --runs 200000 --seed 1 [--zstd]
// With --zstd the logs stand in frames, some of them damaged, and are read by each decoder in turns.

import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DshRefError } from '../src/index.ts'
import {
  hasRowOnlyCheckRefuses,
  isAlike,
  type Reading,
  readFramesSlowly,
  readFramesWith,
  readSlowly,
  readWith,
} from './support/compare-readings.ts'
import { makeFrames } from './support/frame-maker.ts'
import { type MadeVersion, makeLog, mutate, randomShape } from './support/log-maker.ts'

function option(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`)
  return at === -1 ? fallback : Number(process.argv[at + 1])
}

const runs = option('runs', 2000)
const first = option('seed', 1)
const counts = { equal: 0, refused: 0, onlyCheck: 0 }
const faults: string[] = []
const began = performance.now()

const isZstd = process.argv.includes('--zstd')
const directory = mkdtempSync(join(tmpdir(), 'dsh-ref-fuzz-'))

interface Readings {
  readonly what: string
  readonly slowWhole: Reading
  readonly whole: Reading
  readonly slow: Reading
  readonly quick: Reading
  /** Whether the quick reading may differ. */
  readonly mayDiffer: () => boolean
}

async function readRows(bytes: Uint8Array, what: string): Promise<Readings> {
  const whole = await readWith(bytes, { everyRow: true })
  const quick = await readWith(bytes, { everyRow: false })
  const slow = readSlowly(bytes, { everyRow: false })
  const slowWhole = readSlowly(bytes, { everyRow: true })
  return { what, slowWhole, whole, slow, quick, mayDiffer: () => hasRowOnlyCheckRefuses(bytes) }
}

async function readFrames(seed: number, log: Uint8Array, what: string): Promise<Readings> {
  const made = makeFrames(seed, log)
  const path = join(directory, 'log.jsonl.zstd')
  writeFileSync(path, made.bytes)
  // Of a file written a moment ago a refusal is not believed at once.
  utimesSync(path, 1, 1)
  const decoder = seed % 2 === 0 ? 'javascript' : 'wasm'
  const whole = await readFramesWith(path, { everyRow: true, decoder })
  const quick = await readFramesWith(path, { everyRow: false, decoder })
  const plaintext = Buffer.concat([...(made.frames?.complete ?? []), made.frames?.torn ?? Buffer.alloc(0)])
  const mayDiffer = () => plaintext.length > 0 && hasRowOnlyCheckRefuses(plaintext)
  const slow = readFramesSlowly(made, { everyRow: false })
  const slowWhole = readFramesSlowly(made, { everyRow: true })
  return { what: `${what}, ${made.what}`, slowWhole, whole, slow, quick, mayDiffer }
}

for (let run = 0; run < runs && faults.length < 10; run++) {
  const seed = first + run
  const version = (seed % 5) as MadeVersion
  const made = makeLog(seed, randomShape(seed, version)).text()
  // Of the logs in frames half are damaged in their frames only.
  const { bytes, what } = isZstd && seed % 4 < 2 ? { bytes: made, what: 'whole log' } : mutate(seed, made)
  try {
    const { slowWhole, whole, slow, quick, mayDiffer, ...read } = await (isZstd
      ? readFrames(seed, bytes, what)
      : readRows(bytes, what))
    if (!isAlike(slowWhole, whole)) faults.push(`seed ${seed} v${version} ${read.what}: complete reading differs`)
    else if (isAlike(slow, quick)) counts[slow.ok ? 'equal' : 'refused']++
    else if (mayDiffer()) counts.onlyCheck++
    else faults.push(`seed ${seed} v${version} ${read.what}: quick reading differs`)
  } catch (error) {
    const words = error instanceof DshRefError ? error.code : String((error as Error).stack)
    faults.push(`seed ${seed} v${version} ${what}: ${words}`)
  }
  if (run % 20_000 === 19_999) process.stderr.write(`${run + 1} runs, ${faults.length} faults\n`)
}
rmSync(directory, { recursive: true, force: true })

const seconds = ((performance.now() - began) / 1000).toFixed(0)
process.stdout.write(
  `${runs} mutated logs from seed ${first} in ${seconds} s: ${counts.equal} read alike, ${counts.refused} refused alike, ` +
    `${counts.onlyCheck} with a row that only check refuses, ${faults.length} faults\n${faults.map((fault) => `${fault}\n`).join('')}`,
)
process.exitCode = faults.length === 0 ? 0 : 1
