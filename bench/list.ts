// Lists a home of 5,000 sessions, cold and warm, next to a bare program that opens each log and reads its first 4 KiB.
// Build the program first; `--sessions N` takes another number.
//
//   npx esbuild bench/list.ts --bundle --platform=node --format=esm --target=node20 --outfile=bench/data/list.mjs
//   node bench/data/list.mjs

import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectSegment } from '../src/paths.ts'
import { LOG_KINDS, mulberry32, rowsOf } from './make-logs.ts'

/** Size of each log; most sessions are short. */
const LOG_BYTES = 8000

/** Directories the sessions worked in. */
const PROJECTS = 40

const TITLES = [
  'Fix the login redirect',
  'Tests for the checkout page',
  '修复登录页面的重定向',
  'Upgrade Node to 24',
  'Why is CI slow?',
]

/** What the list is compared with: the walk to the logs, and one read of each. */
const BARE = `
import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
const root = process.argv[1]
const buffer = Buffer.allocUnsafe(4096)
for (const project of readdirSync(root)) {
  for (const session of readdirSync(root + '/' + project)) {
    const directory = root + '/' + project + '/' + session
    for (const name of readdirSync(directory)) {
      const file = openSync(directory + '/' + name)
      readSync(file, buffer, 0, 4096, 0)
      closeSync(file)
    }
  }
}`

const sessions = Number(process.argv[process.argv.indexOf('--sessions') + 1]) || 5000
const program = process.env.DSH_REF_BIN ?? join(process.cwd(), 'bin', 'dsh-ref.js')
const home = join(tmpdir(), `dsh-ref-bench-list-${sessions}`)
const root = join(home, 'sessions')
const cache = join(home, 'cache')

function makeHome(): void {
  rmSync(home, { recursive: true, force: true })
  const random = mulberry32(7)
  for (let at = 0; at < sessions; at++) {
    const kind = LOG_KINDS[at % LOG_KINDS.length] as (typeof LOG_KINDS)[number]
    const id = `${Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')}-e29b-41d4-a716-${String(at).padStart(12, '0')}`
    const [first = '', ...rows] = rowsOf(kind, LOG_BYTES, at + 1, id)
    const header = JSON.parse(first)
    header.cwd = `/home/me/work/project-${at % PROJECTS}`
    header.createdAt += at * 60_000
    const title = `${TITLES[at % TITLES.length]} (${at})`
    const named = rows.map((row) => {
      if (!row.startsWith('{"type":"session/title"')) return row
      const event = JSON.parse(row)
      return `${JSON.stringify({ ...event, data: { ...event.data, title } })}\n`
    })
    const directory = join(root, projectSegment(header.cwd), id)
    mkdirSync(directory, { recursive: true })
    const name = kind.version === 0 ? 'session.jsonl' : `session.v${kind.version}.jsonl`
    writeFileSync(join(directory, name), `${JSON.stringify(header)}\n${named.join('')}`)
  }
}

/** Wall time of a run in milliseconds. */
function time(args: readonly string[]): number {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, DSH_REF_CACHE_DIR: cache, DSH_SESSION_JSONL: '' },
  })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`)
  return performance.now() - start
}

/** The shortest of many runs each, taken in turns, so that a busy machine slows all of them alike. */
function shortest(runs: number, programs: Readonly<Record<string, () => number>>): Record<string, number> {
  const best: Record<string, number> = {}
  for (let run = 0; run < runs; run++) {
    for (const [name, measure] of Object.entries(programs)) {
      best[name] = Math.min(best[name] ?? Number.POSITIVE_INFINITY, measure())
    }
  }
  return best
}

const list = (...more: string[]) => time([program, 'list', '--root', root, '--quiet', ...more])
const nothing = join(home, 'nothing')

makeHome()
mkdirSync(nothing)
// Directories changed a moment ago are listed again each time, until their clock has ticked.
spawnSync('sleep', ['4'])
const cold = (...more: string[]) => {
  rmSync(cache, { recursive: true, force: true })
  return list(...more)
}
const query = ['no such title']
const figures = shortest(3, {
  bare: () => time(['--input-type=module', '--eval', BARE, root]),
  cold: () => cold(),
  'cold, query': () => cold(...query),
})
const warm = shortest(15, {
  node: () => time(['--input-type=module', '--eval', '0']),
  'list of nothing': () => time([program, 'list', '--root', nothing, '--quiet']),
  bare: () => time(['--input-type=module', '--eval', BARE, root]),
  warm: () => list(),
  'warm, query': () => list(...query),
  'warm, query, json': () => list('--format', 'json', 'fix'),
})
const all: Record<string, number> = { ...figures, ...warm, bare: Math.min(figures.bare as number, warm.bare as number) }
const { bare = 0, node = 0, 'list of nothing': start = 0 } = all
process.stdout.write(
  `${sessions} sessions of ${LOG_BYTES} bytes; whole processes, and without what it takes to start them\n`,
)
for (const [name, milliseconds] of Object.entries(all)) {
  const own = name === 'bare' ? bare - node : name === 'node' || name === 'list of nothing' ? 0 : milliseconds - start
  const ratios = `${(milliseconds / bare).toFixed(2)} × bare${own > 0 ? `, ${(own / (bare - node)).toFixed(2)} × without start` : ''}`
  process.stdout.write(`${name.padEnd(20)} ${milliseconds.toFixed(0).padStart(6)} ms  ${ratios}\n`)
}
rmSync(home, { recursive: true, force: true })
