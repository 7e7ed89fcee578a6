// The benchmark: every work with what it is compared with, as a table or as JSON. Data is made on the first run.
//   npm run bench -- [--full] [--json] [--runs N] [--only WORDS] [--bin FILE] [--node FILE]
// --full adds logs of 1 GB; --only takes rows whose name holds WORDS; --bin is the program, --node what runs it.

import { rmSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { newerNode } from '../test/support/newer-node.ts'
import { foldWork, readingWorks, retentionWorks } from './in-process.ts'
import { BenchData } from './make-data.ts'
import { LOG_KINDS, type LogKind } from './make-logs.ts'
import { measure, ratioOf, type Timing, type Work } from './measure.ts'
import { MASKED_MEGABYTES, maskingWorks } from './secrets.ts'

/** A row of the table. */
interface Row {
  readonly work: string
  readonly against: string
  readonly ratio: number
  /** Half the width of the middle half of the single ratios, percent. */
  readonly spreadPercent: number
  /** Largest ratio aimed at; absent for a row that is there to be known. */
  readonly aim?: number
  readonly milliseconds: number
  readonly againstMilliseconds: number
  /** Resident set of the process, and how much of it a bare Node has, MiB. */
  readonly peakMebibytes?: number
}

const flag = (name: string) => process.argv.includes(`--${name}`)
const option = (name: string) => {
  const at = process.argv.indexOf(`--${name}`)
  return at === -1 ? undefined : process.argv[at + 1]
}

// Bundled into bench/data, so that the repository is two levels up.
const HERE = new URL('.', import.meta.url).pathname
const program = option('bin') ?? join(HERE, '../../bin/dsh-ref.js')
const node = option('node') ?? process.execPath
const runs = Number(option('runs') ?? 7)
const only = option('only') ?? ''
const data = new BenchData(HERE, await newerNode())
const cache = join(HERE, 'cache')
const rows: Row[] = []

const bare = (name: string) => join(HERE, `${name}.js`)
const tool = (name: string, ...args: readonly string[]): Work => ({ name, args: [program, ...args] })
const without = (name: string, ...args: readonly string[]): Work => ({ name, args: [bare(name), ...args] })
const nothing: Work = { name: 'node -e 0', args: ['-e', '0'] }

/** Whether any of these rows is wanted; making data and running for nothing is to be avoided. */
const isWanted = (...names: readonly string[]) => names.some((name) => name.includes(only))

/** Times a work with what it is compared with, each of those with its aim, and adds the rows. */
async function compare(
  title: string,
  work: Work,
  others: readonly (readonly [other: Work, aim?: number | undefined])[],
  count = runs,
): Promise<void> {
  if (!isWanted(title)) return
  process.stderr.write(`${title}\n`)
  const [own, ...timings] = await measure([work, ...others.map(([other]) => other)], { node, runs: count })
  for (const [index, [other, aim]] of others.entries())
    rows.push(rowOf(title, own as Timing, timings[index] as Timing, other.name, aim))
}

function rowOf(work: string, own: Timing, other: Timing, against: string, aim: number | undefined): Row {
  const { ratio, spread } = ratioOf(own, other)
  return {
    work,
    against,
    ratio,
    spreadPercent: spread,
    ...(aim !== undefined && { aim }),
    milliseconds: own.median,
    againstMilliseconds: other.median,
    ...(own.peakMebibytes !== undefined && { peakMebibytes: own.peakMebibytes }),
  }
}

const prepare = (path: string) => tool('prepare', 'prepare', '--ref', path, 'Go on from there.')
/** A surface as large as the log: what a session without any compaction leaves. */
const OPEN: LogKind = { name: 'v4-open', version: 4, packed: false, compactions: 0 }

for (const megabytes of flag('full') ? [1, 10, 100, 1000] : [1, 10, 100]) {
  // Aims are for 100 MB and more: of a smaller log the start of the processes is most of the time.
  const isAim = megabytes >= 100
  const count = megabytes === 1000 ? Math.min(runs, 3) : runs
  for (const kind of [...LOG_KINDS, OPEN]) {
    const size = `${megabytes} MB ${kind.name}`
    const isAimed = isAim && kind !== OPEN
    const names = [
      `prepare ${size}`,
      `read ${size}, in process`,
      `prepare ${size} zstd`,
      `prepare ${size} zstd, one frame`,
      `check ${size}`,
    ]
    if (!isWanted(...names)) continue
    const isLoose = kind.name === 'v0-loose'
    const raw = data.log(kind, megabytes) as string
    const aims = isAimed ? (isLoose ? [5, 1 / 3] : [3, 1 / 10]) : []
    await compare(
      `prepare ${size}`,
      prepare(raw),
      [
        [without('bare-scan', raw), aims[0]],
        [without('ndjson-fold', raw), aims[1]],
      ],
      count,
    )
    const [reading, scan, fold] = readingWorks(raw)
    await compare(`read ${size}, in process`, reading, [[scan], [fold]], count)
    for (const [storage, suffix] of [
      ['batches', ''],
      ['whole', ', one frame'],
    ] as const) {
      if (!isWanted(`prepare ${size} zstd${suffix}`)) continue
      const zstd = data.log(kind, megabytes, storage)
      if (zstd === undefined) continue
      await compare(
        `prepare ${size} zstd${suffix}`,
        prepare(zstd),
        [[without('bare-decode', zstd), isAimed ? 1.5 : undefined]],
        count,
      )
    }
    await compare(
      `check ${size}`,
      tool('check', 'check', raw),
      [[without('bare-parse', raw), isAimed ? 1.5 : undefined]],
      count,
    )
  }
}

const [retention, stringify] = retentionWorks()
await compare('retention of 20,000 messages (8 MB) into 64 KiB', retention, [[stringify, 2]], 3 * runs)
const [masking, stringifying] = maskingWorks()
await compare(`masking of ${MASKED_MEGABYTES} MB of conversation`, masking, [[stringifying]], runs)
if (isWanted('fold of 100,000 nodes with 5,000 replacements')) {
  const half = foldWork('half of them', 50_000, 2500)
  const whole = foldWork('fold', 100_000, 5000)
  await compare('fold of 100,000 nodes with 5,000 replacements', whole, [[half, 2.2]], 3 * runs)
}

await compareLists()
await compareSearches()

if (isWanted('prepare --redact 1 MB v4')) {
  const log = data.log(OPEN, 1) as string
  const masked = tool('prepare --redact', 'prepare', '--redact', '--quiet', '--ref', log, 'Go on from there.')
  await compare('prepare --redact 1 MB v4', masked, [[prepare(log)]])
}

for (const [title, args] of [
  ['--help', ['--help']],
  ['uri encode x', ['uri', 'encode', 'x']],
  ['completion of a command', ['__complete', 'bash', 'dsh-ref pre']],
] as const) {
  await compare(title, tool(title, ...args), [[nothing, 1.6]], 5 * runs)
}

const [idle] = await measure([nothing], { node, runs: 1 })
print(idle?.peakMebibytes ?? Number.NaN)

async function compareLists(): Promise<void> {
  const env = { DSH_REF_CACHE_DIR: cache }
  const forget = () => rmSync(cache, { recursive: true, force: true })
  const list = (root: string, query: readonly string[], before?: () => void): Work => ({
    ...tool('list', 'list', '--root', root, '--quiet', ...query),
    env,
    ...(before && { before }),
  })
  const names = ['list of 5,000 sessions, cold', 'list of 5,000 sessions, warm'] as const
  if (isWanted(...names)) {
    const root = data.home(5000)
    await settled()
    await compare(names[0], list(root, [], forget), [[without('bare-list', root), 2]])
    await compare(names[1], list(root, []), [[without('bare-list', root), 1.2]])
  }
  const queries = ['list QUERY, 67 sessions in zstd, cold', 'list QUERY, 67 sessions in zstd, warm'] as const
  const library = isWanted(...queries) ? data.library(67) : undefined
  if (!library) return
  await settled()
  const query = ['no such title']
  await compare(queries[0], list(library.root, query, forget), [[without('bare-decode', ...library.logs), 1.5]])
  await compare(queries[1], list(library.root, query), [[tool('--help', '--help'), 2]])
}

async function compareSearches(): Promise<void> {
  const names = ['search of 5,000 sessions, cold', 'search of 5,000 sessions, warm'] as const
  if (!isWanted(...names)) return
  const { root, texts } = data.conversations(5000)
  await settled()
  // Nobody says it, and one session is called so: nothing found would be status 1.
  const pattern = 'session-4321'
  const search = (before?: () => void): Work => ({
    ...tool('search', 'search', '--root', root, '--quiet', '--count', pattern),
    env: { DSH_REF_CACHE_DIR: cache },
    ...(before && { before }),
  })
  const forget = () => rmSync(cache, { recursive: true, force: true })
  const checkAll = tool('check --all', 'check', '--root', root, '--all', '--quiet')
  await compare(names[0], search(forget), [[checkAll, 1.2]], Math.min(runs, 3))
  await compare(names[1], search(), [[without('bare-rg', pattern, texts), 1.5]])
}

/** Directories made a moment ago count as unsettled, and a list reads them again each time. */
async function settled(): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, 3500)
  })
}

function print(idleMebibytes: number): void {
  const machine = { processor: cpus()[0]?.model, cores: cpus().length, gibibytes: Math.round(totalmem() / 2 ** 30) }
  if (flag('json')) {
    const result = { machine, node: process.version, runs, idleMebibytes, rows }
    process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`)
    return
  }
  const cells = rows.map((row) => [
    row.work,
    row.against,
    row.ratio.toFixed(row.ratio < 1 ? 3 : 2),
    `±${row.spreadPercent.toFixed(0)} %`,
    row.aim === undefined ? '' : `≤ ${row.aim.toFixed(row.aim < 1 ? 3 : 1)}`,
    row.aim === undefined ? '' : row.ratio <= row.aim ? 'met' : 'NOT MET',
    row.milliseconds.toFixed(1),
    row.againstMilliseconds.toFixed(1),
    row.peakMebibytes === undefined ? '' : row.peakMebibytes.toFixed(0),
  ])
  const head = ['work', 'compared with', 'ratio', 'spread', 'aim', '', 'ms', 'ms', 'peak MiB']
  process.stdout.write(
    `${machine.processor}, ${machine.cores} cores, ${node}: medians of ${runs} runs or more in turns\n\n`,
  )
  for (const line of [head, head.map(() => '---'), ...cells]) process.stdout.write(`| ${line.join(' | ')} |\n`)
  process.stdout.write(`\nA bare Node takes ${idleMebibytes.toFixed(0)} MiB.\n`)
}
