// Point 1 of issue 14: whatever writes, no session log and no session directory is written to, by any name of theirs.

import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import pLimit from 'p-limit'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ENVIRONMENT } from '../../src/cli/commands/environment.ts'
import type { CommandSpec } from '../../src/cli/commands/spec.ts'
import { environmentOf, groupsOf, PROGRAM } from '../../src/cli/commands.ts'
import { COMMAND_NAMES } from '../support/every-command.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { PROGRAM as PROGRAM_FILE, type RunOptions, run } from '../support/program.ts'
import { assistant, logOf, user } from '../support/rows.ts'
import { everythingIn } from '../support/tree.ts'

/** A way to name a place that is written to, and a run that writes there. */
interface Writer {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Runs of a command that keeps what it has read in the cache. */
function cachers(name: string, ...given: readonly string[]): Record<string, (place: string, log: string) => Writer> {
  const args = (log: string) => [name, ...given, '--target', log]
  return {
    [`${name} DSH_REF_CACHE_DIR`]: (place, log) => ({ args: args(log), env: { DSH_REF_CACHE_DIR: place } }),
    [`${name} XDG_CACHE_HOME`]: (place, log) => ({
      args: args(log),
      env: { DSH_REF_CACHE_DIR: '', XDG_CACHE_HOME: place },
    }),
  }
}

/** Runs by command and by the option or variable that names the place; `log` is a log that the run reads. */
const WRITERS: Readonly<Record<string, (place: string, log: string) => Writer>> = {
  'prepare --output': (place, log) => ({ args: ['prepare', 'go', '--ref', log, '--output', place] }),
  'prepare --spill-dir': (place, log) => ({ args: [...cut(log), '--spill-dir', place] }),
  'prepare DSH_REF_SPILL_DIR': (place, log) => ({ args: cut(log), env: { DSH_REF_SPILL_DIR: place } }),
  'prepare XDG_STATE_HOME': (place, log) => ({
    args: [...cut(log), '--spill-dir', 'auto'],
    env: { XDG_STATE_HOME: place },
  }),
  'spill prune --spill-dir': (place) => ({ args: [...PRUNE, '--spill-dir', place] }),
  'spill prune DSH_REF_SPILL_DIR': (place) => ({ args: PRUNE, env: { DSH_REF_SPILL_DIR: place } }),
  'spill prune XDG_STATE_HOME': (place) => ({ args: PRUNE, env: { XDG_STATE_HOME: place } }),
  ...cachers('list'),
  ...cachers('search', 'word'),
  ...cachers('pick'),
  ...cachers('mcp'),
}

const cut = (log: string) => ['prepare', 'go', '--ref', log, '--max-reference-bytes', '300']
const PRUNE = ['spill', 'prune', '--older-than', '0s']

const writerOf = (name: string, ...given: readonly [string, string]): Writer => {
  const make = WRITERS[name]
  if (!make) throw new Error(`No run of ${name}`)
  return make(...given)
}

/** What names a place that is only read. */
const READING = new Set([
  '--root',
  '--cwd',
  'DSH_REF_ROOT',
  'DSH_HOME',
  'DSH_SESSION_JSONL',
  'XDG_CONFIG_HOME',
  'spill list --spill-dir',
  'spill list DSH_REF_SPILL_DIR',
  'spill list XDG_STATE_HOME',
  'config DSH_REF_SPILL_DIR',
  'config DSH_REF_CACHE_DIR',
  'config XDG_CACHE_HOME',
])

/** Variables that name no place. */
const NO_PLACE = new Set(['NO_COLOR', 'FORCE_COLOR', 'TERM', 'DSH_REF_REDACT'])

let home: Home
let work: string
/** The log that is read, another one, one of a project that is linked into the root, one outside all roots. */
let log: string
let otherLog: string
let linkedLog: string
let outsideLog: string

beforeAll(() => {
  home = makeHome()
  work = realpathSync(mkdtempSync(join(tmpdir(), 'dsh-ref-write-guard-')))
  const text = logOf(4, [user('a'.repeat(2000)), assistant('b')], { id: 'the-session' })
  log = home.write(text)
  otherLog = home.write(logOf(4, [user('x')], { id: 'other-session' }))
  const write = (path: string, id: string) => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, logOf(4, [user('a'.repeat(2000))], { id }))
    return path
  }
  linkedLog = write(join(work, 'project', 'linked', 'session.v4.jsonl'), 'linked')
  symlinkSync(join(work, 'project'), join(home.root, '--linked--'))
  const linkedSession = write(join(work, 'sessions', 'alone', 'session.v4.jsonl'), 'alone')
  symlinkSync(dirname(linkedSession), join(dirname(dirname(log)), 'alone'))
  outsideLog = write(join(work, 'outside', 'session.v4.jsonl'), 'outside')
  mkdirSync(join(work, 'names'))
  linkSync(otherLog, join(work, 'names', 'hard.jsonl'))
  linkSync(outsideLog, join(work, 'names', 'outside.jsonl'))
  symlinkSync(otherLog, join(work, 'names', 'soft.jsonl'))
  symlinkSync('soft.jsonl', join(work, 'names', 'softer.jsonl'))
  symlinkSync(join(dirname(log), 'new'), join(work, 'names', 'dangling'))
  symlinkSync(dirname(dirname(log)), join(work, 'names', 'directory'))
  symlinkSync(home.root, join(work, 'names', 'root'))
})

afterAll(() => {
  home.remove()
  rmSync(work, { recursive: true, force: true })
})

const runHere = (args: readonly string[], options: RunOptions & { root?: string } = {}) =>
  run([...args, '--root', options.root ?? home.root], {
    ...options,
    env: { HOME: work, DSH_REF_SPILL_DIR: '', DSH_REF_CACHE_DIR: join(work, 'cache'), ...options.env },
  })

/** Places that must be refused: what is named, the log that the run reads, and the root as it is given. */
const places = (): Readonly<Record<string, { place: string; read?: string; root?: string }>> => ({
  'the log that is read': { place: log },
  'another log under the root': { place: otherLog },
  'a log through a linked directory': { place: join(work, 'names', 'directory', 'other-session', 'session.v4.jsonl') },
  'a log of a project that is linked into the root': { place: linkedLog },
  'a new file in a session directory that is linked into the root': { place: join(work, 'sessions', 'alone', 'new') },
  'a hard link to a log': { place: join(work, 'names', 'hard.jsonl') },
  'a link to a log': { place: join(work, 'names', 'soft.jsonl') },
  'a link to a link to a log': { place: join(work, 'names', 'softer.jsonl') },
  'a dangling link into a session directory': { place: join(work, 'names', 'dangling') },
  'a new file in a session directory': { place: join(dirname(log), 'new') },
  'a new file in the root': { place: join(home.root, 'new') },
  'the root': { place: home.root },
  'a new file in a root given as a link': { place: join(home.root, 'new'), root: join(work, 'names', 'root') },
  'a new file through a link to the root': { place: join(work, 'names', 'root', 'new') },
})

/** … when a log outside all roots is read. */
const outsidePlaces = (): ReturnType<typeof places> => ({
  'the log that is read': { place: outsideLog },
  'a hard link to the log': { place: join(work, 'names', 'outside.jsonl') },
  'a new file beside the log': { place: join(dirname(outsideLog), 'new') },
})

test('every option and variable that names a place to write to has a run here', () => {
  const commands: [string, CommandSpec][] = []
  const collect = (specs: readonly CommandSpec[], parent: string) => {
    for (const spec of specs) {
      if (spec.load) commands.push([`${parent}${spec.name}`, spec])
      collect(spec.commands ?? [], `${parent}${spec.name} `)
    }
  }
  collect(PROGRAM.commands ?? [], '')
  expect(commands.map(([name]) => name)).toEqual(COMMAND_NAMES.filter((name) => name !== 'help'))
  const naming = commands.flatMap(([name, spec]) => {
    const options = groupsOf(spec).flatMap((group) => group.options)
    const flags = options.filter(({ takes }) => takes === 'file' || takes === 'directory').map(({ flags }) => flags)
    const variables = environmentOf(spec).filter((variable) => !NO_PLACE.has(variable))
    return [...flags.map((flag) => flag.replace(/^.*?(--[a-z-]+).*$/, '$1')), ...variables].flatMap((what) =>
      READING.has(what) || READING.has(`${name} ${what}`) ? [] : [`${name} ${what}`],
    )
  })
  expect(naming.sort()).toEqual(Object.keys(WRITERS).sort())
  expect([...NO_PLACE].filter((variable) => !(variable in ENVIRONMENT))).toEqual([])
})

describe.runIf(process.platform !== 'win32')('every way to write', () => {
  const limit = pLimit(3)

  async function refusals(table: ReturnType<typeof places>, writers: readonly string[], read: string): Promise<void> {
    const before = [home.root, work].map(everythingIn)
    const outcomes = writers.flatMap((writer) =>
      Object.entries(table).map(([kind, { place, root }]) =>
        limit(async () => {
          const { args, env = {} } = writerOf(writer, place, read)
          const { status, stdout, stderr } = await runHere(args, { env, ...(root !== undefined && { root }) })
          const isSaid = /^dsh-ref: The .+; name one elsewhere with .+ \[SESSION_REFERENCE_INVALID_CONFIG\]\n$/.test(
            stderr,
          )
          return { writer, kind, status, stdout, stderr: isSaid ? 'refused' : stderr }
        }),
      ),
    )
    const due = writers.flatMap((writer) =>
      Object.keys(table).map((kind) => ({ writer, kind, status: 2, stdout: '', stderr: 'refused' })),
    )
    expect(await Promise.all(outcomes)).toEqual(due)
    expect([home.root, work].map(everythingIn)).toEqual(before)
  }

  test('is refused wherever a log is, before anything is read or printed', async () => {
    await refusals(places(), Object.keys(WRITERS), 'the-session')
  }, 300_000)

  test('is refused for a log outside all roots that is read, and beside it', async () => {
    const reading = Object.keys(WRITERS).filter((writer) => !writer.startsWith('spill'))
    await refusals(outsidePlaces(), reading, outsideLog)
  }, 120_000)

  test('is refused for the log of $DSH_SESSION_JSONL and for a log on standard input', async () => {
    const ofTarget = await runHere(['prepare', 'go', '--ref', 'the-session', '--output', outsideLog], {
      env: { DSH_SESSION_JSONL: outsideLog },
    })
    expect(ofTarget).toMatchObject({ status: 2, stdout: '' })
    const script = 'log=$1; shift; exec "$@" < "$log"'
    const args = [outsideLog, process.execPath, PROGRAM_FILE, 'prepare', 'go', '--ref', '-', '--output', outsideLog]
    const ofInput = await execa('sh', ['-c', script, 'sh', ...args, '--root', home.root], { reject: false })
    expect(ofInput).toMatchObject({ exitCode: 2, stdout: '' })
    expect(ofInput.stderr).toContain('is the session log on standard input')
    expect(readFileSync(outsideLog, 'utf8')).toContain('"outside"')
  })

  test('is refused for what is not to be read at all, so that a dry run tells of it', async () => {
    const { status, stderr } = await runHere(['prepare', 'go', '--ref', 'nowhere', '--dry-run', '--output', log])
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: `dsh-ref: The output file ${log} lies in the sessions root ${home.root}; name one elsewhere with --output [SESSION_REFERENCE_INVALID_CONFIG]\n`,
    })
  })

  test('of the assets of the build is refused in a root as well', async () => {
    const before = everythingIn(home.root)
    const { status, stderr } = await run(['__assets', home.root], { env: { DSH_REF_ROOT: home.root } })
    expect({ status, isSaid: /asset .* lies in the sessions root/.test(stderr) }).toEqual({ status: 2, isSaid: true })
    expect(everythingIn(home.root)).toEqual(before)
  })

  test('of completion keeps quiet, offers the sessions and writes nothing there', async () => {
    const before = everythingIn(home.root)
    const { status, stdout, stderr } = await run(['__complete', 'bash', 'dsh-ref surface the-'], {
      env: { DSH_REF_ROOT: home.root, DSH_REF_CACHE_DIR: join(home.root, 'cache') },
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('the-session')
    expect(everythingIn(home.root)).toEqual(before)
  })
})

describe.runIf(process.platform !== 'win32')('spill prune', () => {
  test('removes nothing of a root that looks like a directory of transcripts', async () => {
    const root = join(work, 'spills', 'session-0123456789abcdef')
    mkdirSync(root, { recursive: true })
    const file = join(root, '0123456789abcdef01234567-session-reference-1.txt')
    writeFileSync(file, 'x')
    const { status, stderr } = await runHere([...PRUNE, '--spill-dir', join(work, 'spills')], { root })
    expect({ status, isSaid: stderr.includes(`holds ${root}`) }).toEqual({ status: 2, isSaid: true })
    expect(existsSync(file)).toBe(true)
  })
})

describe.runIf(process.platform !== 'win32')('a link as --output', () => {
  let directory: string

  beforeEach(() => {
    directory = mkdtempSync(join(work, 'output-'))
  })

  const prepare = (output: string) => runHere(['prepare', 'go', '--output', output])

  test('stays, and what it leads to is written', async () => {
    mkdirSync(join(directory, 'there'))
    writeFileSync(join(directory, 'there', 'real.md'), 'old')
    symlinkSync(join('there', 'real.md'), join(directory, 'link.md'))
    expect(await prepare(join(directory, 'link.md'))).toEqual({ status: 0, stdout: '', stderr: '' })
    expect(lstatSync(join(directory, 'link.md')).isSymbolicLink()).toBe(true)
    expect(readFileSync(join(directory, 'there', 'real.md'), 'utf8')).toBe('go\n')
  })

  test('that dangles is written where it leads, if there is a directory', async () => {
    symlinkSync('new.md', join(directory, 'link.md'))
    symlinkSync(join('missing', 'new.md'), join(directory, 'lost.md'))
    expect((await prepare(join(directory, 'link.md'))).status).toBe(0)
    expect(readFileSync(join(directory, 'new.md'), 'utf8')).toBe('go\n')
    const lost = await prepare(join(directory, 'lost.md'))
    expect(lost.status).toBe(4)
    expect(lost.stderr).toContain(`Cannot write ${join(directory, 'missing', 'new.md')} (ENOENT)`)
  })

  test('that leads in a circle is refused', async () => {
    symlinkSync('b', join(directory, 'a'))
    symlinkSync('a', join(directory, 'b'))
    const { status, stderr } = await prepare(join(directory, 'a'))
    expect({ status, isSaid: stderr.includes('is a link that leads in a circle') }).toEqual({ status: 2, isSaid: true })
  })
})
