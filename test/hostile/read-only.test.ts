// "How" of issue 5: nothing under a sessions root is created, changed or locked, by any command, whether or not the
// user could write there.

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COMMAND_NAMES, everyCommand, type Places } from '../support/every-command.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { run } from '../support/program.ts'
import { assistant, logOf, logOnly, replacing, user } from '../support/rows.ts'
import { type ProcessOptions, runAllInOneProcess } from '../support/run-all.ts'
import { isInstalled } from '../support/terminal.ts'
import { everythingIn } from '../support/tree.ts'
import { rawBlocks, writeFrame } from '../support/zstd-writer.ts'

const NOBODY = 65534
const isRoot = process.getuid?.() === 0

let home: Home
let work: string
let places: Places

beforeAll(async () => {
  home = makeHome()
  work = mkdtempSync(join(tmpdir(), 'dsh-ref-read-only-'))
  const checkpoint = user('so far', replacing(4, 0, 0, [0]), { kind: 'compact-checkpoint' })
  const title = logOnly('session/title', { title: 'The title', messageSeqs: [], source: { kind: 'user' } })
  const rows = [user('old'), checkpoint, user('a'.repeat(3000)), assistant('b'), title]
  home.write(logOf(4, rows, { id: 'the-session' }))
  home.write(logOf(0, [user('old generation')], { id: 'the-session' }))
  home.write(`${logOf(3, [user('torn')], { id: 'torn' })}{"type":`)
  const frames = logOf(4, [user('zstd')], { id: 'compressed' }).split(/(?<=\n)/)
  const zstd = Buffer.concat(frames.map((frame) => writeFrame(rawBlocks(frame))))
  home.write(zstd, { session: 'compressed', project: '--work-app--', name: 'session.v4.jsonl.zstd' })
  home.write(logOf(4, [user('x', { surfaceOp: 7 }), logOnly('turn/end')], { id: 'corrupt' }))
  home.write(logOf(99, [user('x')], { id: 'future' }))
  const directory = join(home.root, '--work-app--', 'the-session')
  writeFileSync(join(directory, 'session.lock'), '')
  writeFileSync(join(directory, 'session.v4.jsonl.0123456789ab.tmp'), 'half')
  symlinkSync('the-session', join(home.root, '--work-app--', 'linked'))
  await execa('mkfifo', [join(home.root, '--work-app--', 'fifo')])
  const damagedLog = join(home.root, '--work-app--', 'corrupt', 'session.v4.jsonl')
  const artifact = join(work, 'artifact.txt')
  writeFileSync(artifact, (await run(['transcript', 'the-session', '--root', home.root])).stdout)
  places = { root: home.root, session: 'the-session', damagedLog, artifact, spillDir: join(work, 'spill') }
  mkdirSync(places.spillDir)
})

afterAll(() => {
  for (const path of [home.root, join(home.root, '--work-app--')]) chmodSync(path, 0o755)
  home.remove()
  rmSync(work, { recursive: true, force: true })
})

/** Runs all commands, here or in another process; gives the status of each by its arguments. */
async function runAll(process?: ProcessOptions) {
  const runs = Object.values(everyCommand(places)).flat()
  const env = { HOME: work, DSH_REF_CACHE_DIR: join(work, 'cache'), DSH_REF_SPILL_DIR: '' }
  const options = { env, cwd: work }
  const commandLines = runs.map(({ args }) => args)
  const outcomes = process
    ? await runAllInOneProcess(commandLines, options, process)
    : await Promise.all(commandLines.map((args) => run(args, options)))
  for (const { stderr } of outcomes) expect(stderr).not.toMatch(/bug|EACCES|EROFS/)
  return Object.fromEntries(commandLines.map((args, index) => [args.join(' '), outcomes[index]?.status]))
}

describe('every command over a sessions root', () => {
  let statuses: Record<string, number | undefined>

  test('leaves bytes, times, modes and listings as they were', async () => {
    expect(Object.keys(everyCommand(places))).toEqual(expect.arrayContaining([...COMMAND_NAMES]))
    const before = everythingIn(home.root)
    statuses = await runAll()
    expect(everythingIn(home.root)).toEqual(before)
    expect(Object.values(statuses).filter((status) => status === 0).length).toBeGreaterThan(20)
  }, 120_000)

  test.runIf(process.platform !== 'win32')(
    'does the same for a user who may not write there',
    async () => {
      const closed = [home.root, join(home.root, '--work-app--'), dirname(places.damagedLog)]
      for (const path of closed) chmodSync(path, 0o555)
      chmodSync(work, 0o777)
      rmSync(join(work, 'cache'), { recursive: true, force: true })
      rmSync(places.spillDir, { recursive: true, force: true })
      const before = everythingIn(home.root)
      expect(await runAll(isRoot ? { uid: NOBODY, gid: NOBODY } : undefined)).toEqual(statuses)
      expect(everythingIn(home.root)).toEqual(before)
    },
    120_000,
  )

  test.runIf(isInstalled('strace'))(
    'opens nothing for writing there and locks nothing anywhere',
    async () => {
      const traces = join(work, 'traces')
      mkdirSync(traces)
      // A file for each thread: in one for all, calls of several threads lie in pieces between one another.
      await runAll({ wrapper: ['strace', '-ff', '-qq', '-o', join(traces, 't'), '-e', 'trace=%file,flock,fcntl'] })
      const calls = readdirSync(traces).flatMap((name) => readFileSync(join(traces, name), 'utf8').split('\n'))
      const there = calls.filter((call) => call.includes(home.root))
      expect(there.some((call) => /openat\(.*O_RDONLY/.test(call))).toBe(true)
      const writing =
        /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|mkdir|unlink|rename|rmdir|chmod|chown|utime|truncate|mknod/
      expect(there.filter((call) => writing.test(call) && !/execve|readlink/.test(call))).toEqual([])
      // SQLite and the like lock with fcntl, DSH with flock.
      expect(calls.filter((call) => /\bflock\(|F_SETLK|F_OFD_SETLK/.test(call))).toEqual([])
    },
    300_000,
  )
})
