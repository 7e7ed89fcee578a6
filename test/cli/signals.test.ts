// SIGINT and SIGTERM: they end every command at once, whatever it is doing, with the status a shell shows, and leave nothing
// half done behind.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removeOnAbort } from '../../src/files/atomic-file.ts'
import { COMMAND_NAMES, everyCommand } from '../support/every-command.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { PROGRAM, run } from '../support/program.ts'
import { assistant, logOf, user } from '../support/rows.ts'
import { type Block, rawBlocks, rleBlock, writeFrame } from '../support/zstd-writer.ts'

const STATUS = { SIGINT: 130, SIGTERM: 143 } as const
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Until a program is under way on a busy machine. Each of them would go on for minutes, or for ever. */
const UNDER_WAY_MILLISECONDS = 3000

const TIMEOUT = 60_000

/** A line feed, 32 GiB of them in 1 MB. */
const BLOCK_BYTES = 128 * 1024
const LASTING_BLOCKS = (32 * 1024 ** 3) / BLOCK_BYTES

/** What a pipe holds. */
const PIPE_BYTES = 64 * 1024

let home: Home
let outside: string
let artifact: string
let damagedLog: string
beforeAll(async () => {
  home = makeHome()
  outside = mkdtempSync(join(tmpdir(), 'dsh-ref-signals-'))
  home.write(logOf(4, [user('a question'), assistant(`${'a'.repeat(40)}!`)], { id: 'short' }))
  const header = logOf(4, [], { id: 'lasting', cwd: '/w' })
  const lines: Block[] = Array.from({ length: LASTING_BLOCKS }, () => rleBlock(0x0a, BLOCK_BYTES))
  home.write(Buffer.concat([writeFrame(rawBlocks(header)), writeFrame(lines, { checksum: 1 })]), {
    project: '--w--',
    session: 'lasting',
    name: 'session.v4.jsonl.zstd',
  })
  artifact = join(outside, 'artifact.txt')
  writeFileSync(artifact, (await run(['transcript', 'short', '--root', home.root])).stdout)
  damagedLog = join(outside, 'damaged.jsonl')
  writeFileSync(damagedLog, `${logOf(4, [user('one')], { id: 'damaged' })}{"type":"turn/end","seq":7,"time":1}\n`)
})
afterAll(() => {
  home.remove()
  rmSync(outside, { recursive: true, force: true })
})

/** Starts the program; standard input stays open. */
function start(args: readonly string[], stdout: 'pipe' | number = 'pipe'): ChildProcess {
  return spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['pipe', stdout, 'pipe'],
    env: { ...process.env, DSH_REF_ROOT: '', DSH_HOME: '', DSH_SESSION_JSONL: '', XDG_CACHE_HOME: outside },
  })
}

/** Ends programs that are under way, by either signal in turn: the statuses a shell shows, and those that are due. */
async function endAll(children: readonly ChildProcess[]): Promise<{ shown: number[]; due: number[] }> {
  const exits = children.map(async (child) => {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return code ?? 128 + constants.signals[signal as NodeJS.Signals]
  })
  await setTimeout(UNDER_WAY_MILLISECONDS)
  const due = children.map((child, index) => {
    const signal = SIGNALS[index % 2] as (typeof SIGNALS)[number]
    child.kill(signal)
    return STATUS[signal]
  })
  return { shown: await Promise.all(exits), due }
}

/** A run of each command that lasts; `undefined` for one that can wait for nothing but its output, or needs a terminal. */
const LASTING: Readonly<Record<string, readonly string[] | undefined>> = {
  list: ['list', '--no-cache'],
  search: ['search', 'word', '--no-cache'],
  prepare: ['prepare', 'go on', '--ref', 'lasting'],
  surface: ['surface', 'lasting'],
  transcript: ['transcript', 'lasting'],
  'transcript decode': ['transcript', 'decode'],
  'transcript grep': ['transcript', 'grep', '(a+)+$', 'short'],
  check: ['check', '--all'],
  'spill list': undefined,
  'spill prune': undefined,
  'uri encode': ['uri', 'encode'],
  'uri decode': ['uri', 'decode'],
  'uri mention': ['uri', 'mention'],
  'uri parse': ['uri', 'parse'],
  pick: undefined,
  mcp: ['mcp'],
  config: undefined,
  completion: undefined,
  help: undefined,
}

describe('a signal ends', () => {
  test('every command that has much to do or to wait for', { timeout: TIMEOUT }, async () => {
    expect(Object.keys(LASTING).sort()).toEqual([...COMMAND_NAMES].sort())
    const runs = Object.values(LASTING).flatMap((args) => (args ? [[...args, '--root', home.root]] : []))
    const { shown, due } = await endAll(runs.map((args) => start(args)))
    expect(shown.map((status, index) => [runs[index]?.[0], status])).toEqual(
      due.map((status, index) => [runs[index]?.[0], status]),
    )
  })

  test('every command whose output nobody takes', { timeout: TIMEOUT }, async () => {
    const fifo = join(outside, 'full')
    await execa('mkfifo', [fifo])
    const full = openSync(fifo, 'r+')
    writeSync(full, Buffer.alloc(PIPE_BYTES))
    const spillDir = join(outside, 'spill')
    const places = { root: outside, session: artifact, damagedLog, artifact, spillDir }
    const runs = everyCommand({ ...places, root: home.root, session: 'short' })
    const commands = Object.entries(runs).flatMap(([name, [first]]) =>
      // Saved transcripts are few here, and a list that reads every title lasts in another way.
      first === undefined || first.isRefused || name.startsWith('spill') || name === 'list' || name === 'check'
        ? []
        : [first.args],
    )
    const { shown, due } = await endAll(commands.map((args) => start(args, full)))
    closeSync(full)
    expect(shown.map((status, index) => [commands[index]?.[0], status])).toEqual(
      due.map((status, index) => [commands[index]?.[0], status]),
    )
  })

  test('a search for a pattern that never ends, and says so', { timeout: TIMEOUT }, async () => {
    const child = start(['transcript', 'grep', '(a+)+$', 'short', '--root', home.root])
    let stderr = ''
    child.stderr?.on('data', (piece) => {
      stderr += piece
    })
    await endAll([child])
    expect(stderr).toContain('Cancelled; nothing was printed')
  })
})

test('a temporary file is gone as soon as a signal is heard', () => {
  const temporary = join(outside, 'product.tmp')
  writeFileSync(temporary, 'half')
  const controller = new AbortController()
  using _ = removeOnAbort(temporary, controller.signal)
  controller.abort()
  expect(existsSync(temporary)).toBe(false)
})
