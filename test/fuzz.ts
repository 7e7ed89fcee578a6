// Compares the quick reading, the complete reading and the slow reference on mutated logs of every version.
//   npm run fuzz -- --runs 200000 --seed 1

import { DshRefError } from '../src/index.ts'
import { hasRowOnlyCheckRefuses, isAlike, readSlowly, readWith } from './support/compare-readings.ts'
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

for (let run = 0; run < runs && faults.length < 10; run++) {
  const seed = first + run
  const version = (seed % 5) as MadeVersion
  const { bytes, what } = mutate(seed, makeLog(seed, randomShape(seed, version)).text())
  try {
    const slow = readSlowly(bytes)
    const whole = await readWith(bytes, { everyRow: true })
    const quick = await readWith(bytes, { everyRow: false })
    if (!isAlike(slow, whole)) faults.push(`seed ${seed} v${version} ${what}: complete reading differs`)
    else if (isAlike(slow, quick)) counts[slow.ok ? 'equal' : 'refused']++
    else if (hasRowOnlyCheckRefuses(bytes)) counts.onlyCheck++
    else faults.push(`seed ${seed} v${version} ${what}: quick reading differs`)
  } catch (error) {
    const words = error instanceof DshRefError ? error.code : String((error as Error).stack)
    faults.push(`seed ${seed} v${version} ${what}: ${words}`)
  }
  if (run % 20_000 === 19_999) process.stderr.write(`${run + 1} runs, ${faults.length} faults\n`)
}

const seconds = ((performance.now() - began) / 1000).toFixed(0)
process.stdout.write(
  `${runs} mutated logs from seed ${first} in ${seconds} s: ${counts.equal} read alike, ${counts.refused} refused alike, ` +
    `${counts.onlyCheck} with a row that only check refuses, ${faults.length} faults\n${faults.map((fault) => `${fault}\n`).join('')}`,
)
process.exitCode = faults.length === 0 ? 0 : 1
