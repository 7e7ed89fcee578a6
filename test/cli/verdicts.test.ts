// One verdict from every command: each kind of damage in one root, what each command must say of it in one row, written by
// hand from FORMAT.md and DESIGN.md.

import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import pLimit from 'p-limit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sessionSegment } from '../../src/locate/paths.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { PROGRAM, run } from '../support/program.ts'
import { assistant, logOf, logOnly, type MadeRow, replacing, user } from '../support/rows.ts'
import { rawBlocks, writeFrame } from '../support/zstd-writer.ts'

/** What the commands say of one log. */
interface Verdict {
  /** `health` of its row in `list --format json`, and the kinds of its issues; no health: there is no row. */
  readonly list: readonly [health: string | undefined, ...kinds: string[]]
  /** Status and first rule that is no note; the same of `check <path>` and `check --all`. */
  readonly check: readonly [status: string, rule?: string]
  /** The reason `prepare` refuses it with, or `read`. */
  readonly plain: string
  /** The reason `prepare`, `transcript` and `surface` refuse it with under `--strict`, and the rule, or `read`. */
  readonly strict: readonly [reason: string, rule?: string]
}

interface Damage {
  /** Makes the log and returns its path; the id is the name of the damage. */
  readonly make: (home: Home, id: string) => string | Promise<string>
  readonly due: Verdict
}

const ROWS = [
  logOnly('turn/start', { turn: 1 }),
  user('question'),
  assistant('answer'),
  logOnly('turn/end', { turn: 1 }),
]
const ROW_COUNT = ROWS.length

const log = (id: string, rows: readonly MadeRow[] = ROWS, version = 0) => logOf(version, rows, { id })
const frames = (text: string, checksum: boolean | number = true) => {
  const end = text.indexOf('\n') + 1
  return Buffer.concat([
    writeFrame(rawBlocks(text.slice(0, end))),
    writeFrame(rawBlocks(text.slice(end)), { checksum }),
  ])
}
/** Where the log of an id lies, for bytes from which nobody can read it. */
const placeOf = (id: string) => ({ project: '--work-app--', session: sessionSegment(id) })
const noShape = { ...user('x'), data: { id: 'x', role: 'user', content: 'x', source: { kind: 'user' } } }
const noId = { ...user('x'), data: { role: 'user', content: [], source: { kind: 'user' } } }
const shadowing = (row: MadeRow) => [row, user('S', replacing(0, 0, 0, [0]))]

const corrupt = (rule: string): Verdict => ({
  list: ['corrupt', 'corrupt-log'],
  check: ['corrupt', rule],
  plain: 'corrupt',
  strict: ['corrupt', rule],
})
const survived = (health: string, kind: string, reason: string): Verdict => ({
  list: [health, kind],
  check: ['issues', kind],
  plain: 'read',
  strict: [reason],
})
const sound: Verdict = { list: ['ok'], check: ['ok'], plain: 'read', strict: ['read'] }
/** Nothing but a complete reading meets it; a list reads titles only. */
const hidden = (rule: string): Verdict => ({
  list: ['ok'],
  check: ['corrupt', rule],
  plain: 'read',
  strict: ['corrupt', rule],
})

const DAMAGES: Readonly<Record<string, Damage>> = {
  sound: { make: (home, id) => home.write(log(id)), due: sound },
  'sound zstd': { make: (home, id) => home.write(frames(log(id)), { ...placeOf(id), suffix: '.zstd' }), due: sound },
  'ignorable type': {
    make: (home, id) => home.write(log(id, [...ROWS, logOnly('future/thing', {}, { ignorable: true })])),
    due: sound,
  },
  'torn tail': {
    make: (home, id) => home.write(`${log(id)}{"type":"user/mess`),
    due: survived('torn', 'torn-tail', 'corrupt'),
  },
  'required type': {
    make: (home, id) => home.write(log(id, [...ROWS, logOnly('future/thing')])),
    due: survived('ok', 'unknown-event-type', 'unsupported'),
  },
  'extra key': {
    make: (home, id) => home.write(log(id, [...ROWS, logOnly('turn/start', { turn: 2 }, { colour: 'red' })])),
    due: survived('ok', 'extra-key', 'unsupported'),
  },
  'not JSON inside': {
    make: (home, id) => home.write(log(id).replace('"data":{"turn":1}', '"data":{"turn":,}')),
    due: hidden('malformed-row'),
  },
  'bad seq': {
    make: (home, id) => home.write(log(id).replace('"seq":2', '"seq":7')),
    due: corrupt('seq-gap'),
  },
  'bad checksum': {
    make: (home, id) => home.write(frames(log(id), 1), { ...placeOf(id), suffix: '.zstd' }),
    due: corrupt('zstd-checksum'),
  },
  'bad fold': {
    make: (home, id) => home.write(log(id, [...ROWS, user('S', replacing(0, 0, 0, [0]))])),
    due: corrupt('replace-endpoint-not-on-surface'),
  },
  'wrong shape on the surface': {
    make: (home, id) => home.write(log(id, [noShape])),
    due: { ...hidden('message-shape'), plain: 'corrupt' },
  },
  'wrong shape off the surface': {
    make: (home, id) => home.write(log(id, shadowing(noShape))),
    due: hidden('message-shape'),
  },
  'no id off the surface': {
    make: (home, id) => home.write(log(id, shadowing(noId))),
    // It is the first message of the user, which a list reads to show how the session began.
    due: { list: ['ok', 'message-id'], check: ['issues', 'message-id'], plain: 'read', strict: ['corrupt'] },
  },
  'no header': {
    make: (home, id) => home.write('nonsense\n', placeOf(id)),
    due: corrupt('header'),
  },
  'empty file': {
    make: (home, id) => home.write('', placeOf(id)),
    due: corrupt('header'),
  },
  'other version than its name': {
    make: (home, id) => home.write(log(id, ROWS, 3), { name: 'session.v4.jsonl' }),
    due: corrupt('version-mismatch'),
  },
  'future version': {
    make: (home, id) => home.write(log(id, ROWS, 7)),
    due: {
      list: ['unsupported', 'unsupported-log'],
      check: ['unsupported', 'unknown-version'],
      plain: 'unsupported',
      strict: ['unsupported', 'unknown-version'],
    },
  },
  'raw and zstd of one version': {
    make(home, id) {
      const path = home.write(log(id))
      writeFileSync(`${path}.zstd`, frames(log(id)))
      return dirname(path)
    },
    due: {
      list: [undefined, 'unreadable-log'],
      check: ['unreadable', 'ambiguous'],
      plain: 'ambiguous',
      strict: ['ambiguous'],
    },
  },
  'raw and zstd generations': {
    make(home, id) {
      const path = home.write(log(id, ROWS, 4))
      writeFileSync(join(dirname(path), 'session.v3.jsonl.zstd'), frames(log(id, ROWS, 3)))
      return path
    },
    due: survived('ok', 'encoding-mismatch', 'corrupt'),
  },
  'other project': {
    make: (home, id) => home.write(log(id), { project: '--somewhere-else--' }),
    due: survived('ok', 'path-mismatch', 'corrupt'),
  },
  'project that is no name of one': {
    make: (home, id) => home.write(log(id), { project: 'backup' }),
    due: survived('ok', 'path-mismatch', 'corrupt'),
  },
  twin: {
    make(home, id) {
      home.write(logOf(0, ROWS, { id, cwd: '/other' }))
      return home.write(log(id))
    },
    // The list shows the other one.
    due: { ...survived('ok', 'duplicate-id', 'ambiguous'), list: [undefined, 'duplicate-id'] },
  },
  'link that leads nowhere': {
    make(home, id) {
      const path = home.write(log(id))
      renameSync(path, `${path}.tmp`)
      symlinkSync('gone', path)
      return path
    },
    due: {
      list: [undefined, 'dangling-link'],
      check: ['unreadable', 'not-found'],
      plain: 'not-found',
      strict: ['not-found'],
    },
  },
  fifo: {
    async make(home, id) {
      const path = home.write(log(id))
      renameSync(path, `${path}.tmp`)
      await execa('mkfifo', [path])
      return path
    },
    due: {
      list: ['unread', 'unreadable-log'],
      check: ['unreadable', 'unreadable'],
      plain: 'unreadable',
      strict: ['unreadable'],
    },
  },
}

const onPosix = describe.skipIf(process.platform === 'win32')

interface Checked {
  readonly path: string
  readonly status: string
  readonly refusedByDsh: boolean
  readonly findings: readonly { severity: string; rule: string }[]
}
const checkVerdict = ({ status, findings }: Checked) => {
  const rule = findings.find(({ severity }) => severity !== 'note')?.rule
  return rule === undefined ? [status] : [status, rule]
}

onPosix('each kind of damage', () => {
  let home: Home
  const paths: Record<string, string> = {}
  const json = async (...args: string[]) =>
    JSON.parse((await run([...args, '--root', home.root, '--format', 'json'])).stdout)

  beforeAll(async () => {
    home = makeHome()
    for (const [id, { make }] of Object.entries(DAMAGES)) paths[id] = await make(home, id)
  })
  afterAll(() => home.remove())

  const due = (key: keyof Verdict) =>
    Object.fromEntries(Object.entries(DAMAGES).map(([id, damage]) => [id, damage.due[key]]))
  const ofEach = async (verdictOf: (path: string) => unknown) => {
    const limit = pLimit(2)
    const verdicts = Object.entries(paths).map(([id, path]) => limit(async () => [id, await verdictOf(path)] as const))
    return Object.fromEntries(await Promise.all(verdicts))
  }
  /** The log of a row: the file, or the directory that holds it. */
  const isAt = (path: string) => (row: { path: string }) => row.path === path

  test('is one verdict of check <path> and check --all', async () => {
    const all: { logs: Checked[] } = await json('check', '--all')
    const named: { logs: Checked[] } = await json('check', ...Object.values(paths).map((path) => `path:${path}`))
    const verdicts = (logs: Checked[]) =>
      ofEach((path) => {
        const found = logs.find(isAt(path))
        return found && checkVerdict(found)
      })
    expect(await verdicts(all.logs)).toEqual(due('check'))
    expect(await verdicts(named.logs)).toEqual(due('check'))
    const refused = Object.fromEntries(all.logs.map(({ path, refusedByDsh }) => [path, refusedByDsh]))
    for (const id of ['raw and zstd generations', 'other project', 'twin']) expect(refused[paths[id] ?? '']).toBe(true)
  })

  test('is in the list with its health and its issue', async () => {
    const { stdout, stderr } = await run([
      ...['list', '--all', '--no-cache', '--root', home.root, '--format', 'json', '--strict'],
      ...['--error-format', 'json'],
    ])
    expect(stdout).toBe('')
    const issues: { file: string; kind: string; message: string }[] = JSON.parse(stderr).error.issues
    const rows: { path: string; health: string }[] = await json('list', '--all', '--no-cache')
    const isAbout = (path: string) => (issue: (typeof issues)[number]) =>
      issue.file === path || issue.file === dirname(path) || issue.message.includes(path)
    const verdicts = await ofEach((path) => {
      const kinds = issues.filter(isAbout(path)).map(({ kind }) => kind)
      return [rows.find(isAt(path))?.health, ...new Set(kinds)]
    })
    expect(verdicts).toEqual(due('list'))
  })

  const outcome = async (...args: string[]) => {
    const { status, stdout, stderr } = await run([...args, '--root', home.root, '--error-format', 'json'])
    if (status === 0) return ['read']
    const { error } = JSON.parse(stderr)
    expect({ status, stdout, code: error.code }).toEqual({
      status: 4,
      stdout: '',
      code: 'SESSION_REFERENCE_READ_FAILED',
    })
    return error.rule === undefined ? [error.reason] : [error.reason, error.rule]
  }

  test('is read or refused by prepare', { timeout: 240_000 }, async () => {
    expect(await ofEach(async (path) => (await outcome('prepare', '--ref', `path:${path}`))[0])).toEqual(due('plain'))
  })

  test.each([['prepare', '--ref'], ['transcript'], ['surface']])(
    'is refused by %s --strict for the reason of check',
    { timeout: 240_000 },
    async (...command) => {
      expect(await ofEach((path) => outcome(...command, `path:${path}`, '--strict'))).toEqual(due('strict'))
    },
  )

  test('is the same by id, and ambiguous for an id that two logs have', async () => {
    expect(await outcome('prepare', '--ref', 'id:other project')).toEqual(['read'])
    expect(await outcome('prepare', '--ref', 'id:other project', '--strict')).toEqual(['corrupt'])
    expect(await outcome('transcript', 'other pro', '--strict')).toEqual(['corrupt'])
    expect(await outcome('surface', 'id:not JSON inside', '--at', '0', '--strict')).toEqual([
      'corrupt',
      'malformed-row',
    ])
    expect(await outcome('transcript', 'grep', 'x', 'id:not JSON inside', '--strict')).toEqual([
      'corrupt',
      'malformed-row',
    ])
    expect(await outcome('prepare', '--ref', 'id:twin')).toEqual(['ambiguous'])
    expect(await outcome('check', 'id:twin')).toEqual(['ambiguous'])
    const { logs } = await json('check', 'id:no header', 'id:raw and zstd generations')
    expect(logs.map(checkVerdict)).toEqual([
      ['corrupt', 'header'],
      ['issues', 'encoding-mismatch'],
    ])
  })

  test('behind the event of surface --at is refused with --strict, and the surface is that of the event', async () => {
    const path = `path:${paths['wrong shape off the surface']}`
    expect(await outcome('surface', path, '--at', '0', '--strict')).toEqual(['corrupt', 'message-shape'])
    const strict = await json('surface', 'id:sound', '--at', '1', '--strict')
    expect(strict).toMatchObject({ nodes: [1], capturedThroughSeq: 1 })
    expect(strict).toEqual(await json('surface', 'id:sound', '--at', '1'))
  })

  test('of the target is met with --strict too, where its log is read for the context window', async () => {
    const args = ['prepare', '--ref', 'id:sound', '--target', 'id:not JSON inside']
    expect(await outcome(...args)).toEqual(['read'])
    expect(await outcome(...args, '--strict')).toEqual(['corrupt'])
  })

  test('a copy of a log outside every root has no place it must be in, and no rival', async () => {
    const desk = makeHome()
    const path = join(desk.root, 'session.jsonl')
    writeFileSync(path, log('sound'))
    for (const command of [['prepare', '--ref'], ['check']]) {
      const { status } = await run([...command, `path:${path}`, '--strict', '--root', home.root])
      expect(status).toBe(0)
    }
    desk.remove()
  })

  test('is refused with what to do about it', async () => {
    const refusal = async (...args: string[]) => (await run([...args, '--root', home.root])).stderr
    const path = paths['bad seq'] as string
    expect(await refusal('prepare', '--ref', 'id:bad seq')).toContain(
      `; --salvage reads the log through seq ${ROW_COUNT - 3}, or "dsh-ref check '${path}'" tells more [`,
    )
    expect(await refusal('transcript', 'id:bad seq', '--strict')).toContain(`; "dsh-ref check '${path}'" tells more [`)
    expect(await refusal('surface', 'id:no header')).not.toContain('--salvage')
    expect(await refusal('surface', 'id:future version')).toContain('--allow-unknown-version')
    expect(await refusal('list', '--strict')).toContain('"dsh-ref check --all" tells more')
    expect(await refusal('prepare', '--ref', 'no-such-session')).not.toContain('tells more')
  })

  test('of a shape names the key, what is due there and what is there, once', async () => {
    const path = paths['wrong shape on the surface'] as string
    const words = 'The user/message at seq 0 has a wrong shape at data.content: expected an array, got "x"'
    const { stdout } = await run(['check', `path:${path}`, '--root', home.root])
    expect(stdout.split('\n')[1]).toBe(`    corrupt message-shape (line 2, seq 0): ${words}`)
    const { stderr } = await run(['surface', `path:${path}`, '--root', home.root, '--error-format', 'json'])
    expect(JSON.parse(stderr).error).toMatchObject({ key: 'data.content', expected: 'an array', actual: 'x' })
  })
})

onPosix('a place that holds no log', () => {
  /** Each alone beside one sound log: what makes it, its rule, and whether it cannot be read. */
  const places: Readonly<Record<string, readonly [rule: string, make: (root: string) => string]>> = {
    'a stray file': ['stray-file', (root) => touched(join(root, 'notes.txt'))],
    'a log of the flat layout': ['legacy-flat-file', (root) => touched(join(root, '--work-app--', 'old.jsonl'))],
    'a link that leads nowhere': ['dangling-link', (root) => linked(join(root, '--gone--'))],
  }
  const touched = (path: string) => {
    writeFileSync(path, 'x')
    return path
  }
  const linked = (path: string) => {
    symlinkSync('nowhere', path)
    return path
  }
  const checkAll = async (...args: string[]) => {
    const { status, stdout, stderr } = await run(['check', '--all', ...args])
    return { status, stdout, stderr }
  }

  test.each(Object.entries(places))(
    '%s is a row with issues, and refused with --strict',
    async (_name, [rule, make]) => {
      const home = makeHome()
      home.write(log('sound'))
      const path = make(home.root)
      const args = ['--root', home.root]
      expect(await checkAll(...args)).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(new RegExp(`\\nissues +${path}\\n {4}issue ${rule}: `)),
        stderr: 'dsh-ref: 1 log checked: 1 ok; 1 odd place: 1 with issues\n',
      })
      expect((await checkAll(...args, '--strict')).status).toBe(4)
      expect((await run(['list', '--no-cache', '--strict', ...args])).status).toBe(4)
      const { places: rows, issues } = JSON.parse((await checkAll(...args, '--format', 'json')).stdout)
      const refusedByDsh = rule === 'legacy-flat-file'
      expect(rows).toMatchObject([{ path, status: 'issues', refusedByDsh, findings: [{ severity: 'issue', rule }] }])
      expect(issues).toMatchObject([{ kind: rule, file: path }])
      home.remove()
    },
  )

  test('a root that is missing among several is a row with issues, and refused with --strict', async () => {
    const home = makeHome()
    home.write(log('sound'))
    const path = join(home.root, 'none')
    const args = ['--root', home.root, '--root', path]
    const { status, stdout, stderr } = await checkAll(...args)
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: 'dsh-ref: 1 log checked: 1 ok; 1 odd place: 1 with issues\n',
    })
    expect(stdout).toContain(`issues      ${path}\n    issue missing-root: The sessions root does not exist\n`)
    expect((await checkAll(...args, '--strict')).status).toBe(4)
    expect(await checkAll('--root', path)).toMatchObject({ status: 4, stdout: '' })
    home.remove()
  })

  test('a root that cannot be read among several is refused, strictly or not', async () => {
    const home = makeHome()
    home.write(log('sound'))
    const path = touched(join(dirname(home.write(log('sound'))), 'no directory'))
    const { status, stdout } = await checkAll('--root', home.root, '--root', path)
    expect(status).toBe(4)
    expect(stdout).toContain(`unreadable  ${path}\n    unreadable unreadable-entry: `)
    home.remove()
  })

  test.skipIf(process.getuid?.() !== 0)(
    'a project directory that may not be read is refused, strictly or not',
    async () => {
      const home = makeHome()
      home.write(log('sound'))
      const closed = join(home.root, '--closed--')
      mkdirSync(closed, { mode: 0o700 })
      await execa('chmod', ['755', home.root])
      const { exitCode, stdout } = await execa(process.execPath, [PROGRAM, 'check', '--all', '--root', home.root], {
        uid: 65_534,
        gid: 65_534,
        reject: false,
        env: { HOME: home.root, XDG_CONFIG_HOME: '' },
      })
      expect(exitCode).toBe(4)
      expect(stdout).toContain(`unreadable  ${closed}\n    unreadable unreadable-entry: `)
      home.remove()
    },
  )
})
