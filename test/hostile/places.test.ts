// Case 15 of issue 5: what may lie where a log should be, and names and ids that mean something elsewhere. Nothing hangs,
// nothing is opened that is no regular file, and the sessions beside it are read as ever.

import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkPath } from '../../src/check/check.ts'
import { DshRefError, locateSession, prepare, readSurface } from '../../src/index.ts'
import { listCandidates } from '../../src/list/candidates.ts'
import { sessionSegment } from '../../src/locate/paths.ts'
import { encodeSessionUri } from '../../src/reference/uri.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { PROGRAM } from '../support/program.ts'
import { logOf, user } from '../support/rows.ts'

const onPosix = describe.runIf(process.platform !== 'win32')
const log = (id: string, text = `text of ${id}`) => logOf(4, [user(text)], { id })

let home: Home
let outside: string
beforeAll(() => {
  home = makeHome()
  outside = mkdtempSync(join(tmpdir(), 'dsh-ref-places-'))
  home.write(log('beside'))
})
afterAll(() => {
  home.remove()
  rmSync(outside, { recursive: true, force: true })
})

/** A session directory of this name, empty. */
function directory(session: string): string {
  const path = join(home.root, '--work-app--', session)
  mkdirSync(path, { recursive: true })
  return path
}

/** Runs the program in a process: one that hangs, be it in the file system, is killed and has no status. */
const run = async (...args: string[]) => {
  const { exitCode, stdout, stderr } = await execa(process.execPath, [PROGRAM, ...args], {
    reject: false,
    input: '',
    timeout: 30_000,
    killSignal: 'SIGKILL',
    env: { HOME: outside, DSH_REF_CACHE_DIR: join(outside, 'cache'), DSH_SESSION_JSONL: '' },
  })
  return { status: exitCode, stdout, stderr }
}

async function textsOf(sessionId: string, roots = [home.root]): Promise<(string | undefined)[]> {
  const { sources } = await prepare({ message: '', references: [{ sessionId }], roots })
  return sources.flatMap(({ data }) => data.conversation.map(({ text }) => text))
}

onPosix('where a log should be', () => {
  const names = ['fifo', 'socket', 'device', 'directory', 'loop', 'nowhere', 'parent']
  const path = (kind: string) => join(home.root, '--work-app--', kind, 'session.v4.jsonl')
  let server: ReturnType<typeof createServer>

  beforeAll(async () => {
    for (const name of names) directory(name)
    await execa('mkfifo', [path('fifo')])
    server = createServer()
    // The path of a socket may be 107 bytes long and no longer.
    await new Promise<void>((resolve) => server.listen({ path: join(outside, 's') }, resolve))
    symlinkSync(join(outside, 's'), path('socket'))
    symlinkSync('/dev/zero', path('device'))
    mkdirSync(path('directory'))
    symlinkSync('session.v4.jsonl', path('loop'))
    symlinkSync(join(outside, 'gone'), path('nowhere'))
    symlinkSync('..', path('parent'))
  })
  afterAll(() => {
    server.close()
    for (const name of names) rmSync(join(home.root, '--work-app--', name), { recursive: true, force: true })
  })

  test.each(names)('a %s is refused as unreadable, at once', async (name) => {
    const { status, stdout, stderr } = await run('surface', `path:${path(name)}`, '--error-format', 'json')
    expect({ status, stdout }).toEqual({ status: 4, stdout: '' })
    const { error } = JSON.parse(stderr)
    expect(error).toMatchObject({ code: 'SESSION_REFERENCE_READ_FAILED', file: expect.stringContaining(`/${name}`) })
    expect(['unreadable', 'not-found']).toContain(error.reason)
  })

  test('all of them leave the session beside them as it was', async () => {
    expect(await textsOf('beside')).toEqual(['text of beside'])
    const { status, stdout, stderr } = await run('list', '--root', home.root, '--no-cache', '--format', 'id')
    expect(status).toBe(0)
    // What no reader can open is a row by the id of its directory, behind the sessions that can be read.
    expect(stdout.split('\n')).toEqual(['beside', 'device', 'directory', 'fifo', 'parent', 'socket'])
    expect(stderr).toMatch(/^dsh-ref: \d+ issues: /)
    const checked = JSON.parse((await run('check', '--all', '--root', home.root, '--format', 'json')).stdout)
    const statuses = checked.logs.map((each: { path: string; status: string }) => [
      each.path.split('/').at(-2),
      each.status,
    ])
    expect(Object.fromEntries(statuses)).toMatchObject({ beside: 'ok', fifo: 'unreadable', device: 'unreadable' })
  })

  test('a FIFO is not even opened: who waits at its other end goes on waiting', async () => {
    const writer = spawn('sh', ['-c', `echo x > '${path('fifo')}'`])
    let hasEnded = false
    writer.on('exit', () => {
      hasEnded = true
    })
    await setTimeout(200)
    for (const args of [
      ['list', '--no-cache'],
      ['check', '--all'],
      ['prepare', 'x', '--ref', 'id:fifo'],
    ]) {
      expect((await run(...args, '--root', home.root)).status).toBeTypeOf('number')
    }
    await run('transcript', `path:${path('fifo')}`)
    await run('prepare', 'x', '--target', `path:${path('fifo')}`)
    await setTimeout(200)
    expect(hasEnded).toBe(false)
    writer.kill()
  })
})

onPosix('links', () => {
  test('to a root, a project, a session and a log lead to the log', async () => {
    const real = makeHome()
    const path = real.write(log('linked'))
    const links = mkdtempSync(join(outside, 'links-'))
    symlinkSync(real.root, join(links, 'root'))
    mkdirSync(join(links, 'a'))
    symlinkSync(join(real.root, '--work-app--'), join(links, 'a', '--work-app--'))
    mkdirSync(join(links, 'b', '--work-app--'), { recursive: true })
    symlinkSync(join(real.root, '--work-app--', 'linked'), join(links, 'b', '--work-app--', 'linked'))
    mkdirSync(join(links, 'c', '--work-app--', 'linked'), { recursive: true })
    symlinkSync(path, join(links, 'c', '--work-app--', 'linked', 'session.v4.jsonl'))
    for (const root of ['root', 'a', 'b', 'c']) {
      expect(await textsOf('linked', [join(links, root)])).toEqual(['text of linked'])
      const { candidates } = await listCandidates({ roots: [join(links, root)] })
      expect(candidates).toMatchObject([{ sessionId: 'linked', health: 'ok' }])
    }
    // One root by two names is one root.
    expect(await textsOf('linked', [real.root, join(links, 'root')])).toEqual(['text of linked'])
    real.remove()
  })

  test('that lead in a circle end', async () => {
    const circular = makeHome()
    circular.write(log('inside'))
    symlinkSync('.', join(circular.root, 'self'))
    symlinkSync('..', join(circular.root, '--work-app--', 'up'))
    symlinkSync('b', join(circular.root, 'a'))
    symlinkSync('a', join(circular.root, 'b'))
    expect(await textsOf('inside', [circular.root])).toEqual(['text of inside'])
    const { candidates, issues } = await listCandidates({ roots: [circular.root] })
    expect(candidates.map(({ sessionId }) => sessionId)).toEqual(['inside'])
    expect(issues.map(({ kind }) => kind)).toContain('dangling-link')
    circular.remove()
  })
})

onPosix('a root', () => {
  test.each([
    ['that is a FIFO', async (path: string) => void (await execa('mkfifo', [path])), 'unreadable'],
    ['that is a file', async (path: string) => writeFileSync(path, ''), 'unreadable'],
    ['that is a link in a circle', async (path: string) => symlinkSync(path, path), 'unreadable'],
    ['that does not exist', async () => undefined, 'not-found'],
  ])('%s is said to be that', async (what, make, reason) => {
    const path = join(outside, `root ${what}`)
    await make(path)
    const { status, stdout, stderr } = await run('list', '--root', path, '--error-format', 'json')
    expect({ status, stdout }).toEqual({ status: 4, stdout: '' })
    expect(JSON.parse(stderr)).toMatchObject({ error: { reason, file: path } })
  })
})

onPosix('directories with names that are no names', () => {
  test('with a newline, an escape, or bytes that are no UTF-8, do not disturb the others', async () => {
    const odd = makeHome()
    odd.write(log('beside'))
    odd.write(log('in a line'), { session: 'line\nbreak' })
    odd.write(log('in an escape'), { project: '--\u001b[31m--', session: 'esc\u001b[2J' })
    const bytes = Buffer.concat([Buffer.from(join(odd.root, '--work-app--', 'bad-')), Buffer.of(0xff, 0xfe)])
    mkdirSync(bytes)
    writeFileSync(Buffer.concat([bytes, Buffer.from('/session.v4.jsonl')]), log('in bad bytes'))
    expect(await textsOf('beside', [odd.root])).toEqual(['text of beside'])
    expect(await textsOf('in a line', [odd.root])).toEqual(['text of in a line'])
    expect(await textsOf('in an escape', [odd.root])).toEqual(['text of in an escape'])
    const { candidates, issues } = await listCandidates({ roots: [odd.root] })
    expect(candidates.map(({ sessionId }) => sessionId).sort()).toEqual(['beside', 'in a line', 'in an escape'])
    // Node knows no name for that directory; what it cannot open is said, and is no end.
    expect(issues).toContainEqual(expect.objectContaining({ kind: 'unreadable-log' }))
    const { stdout } = await run('list', '--root', odd.root, '--no-cache', '--long')
    expect(stdout.split('\n')).toHaveLength(3)
    odd.remove()
  })
})

describe('ids that mean something elsewhere', () => {
  const IDS = [
    ...[
      '..',
      '.',
      '~',
      '-',
      '/',
      '\\',
      '*',
      '%2e%2e',
      'con',
      'nul.',
      'CON',
      ' ',
      ' x ',
      '--root',
      '@[x](y)',
      'a/b/../c',
    ],
    ...[
      '../../etc/passwd',
      '/etc/passwd',
      'C:\\x',
      '$HOME',
      '`id`',
      'a\nb',
      'a\0b',
      '\u202e',
      'é',
      'e\u0301',
      'dsh-session:x',
    ],
    ...['id:x', 'path:x', 'session.jsonl', 'x'.repeat(4096), '界'.repeat(1366), 'constructor', '__proto__', ''],
  ]

  test('are each found by their URI, and by no other', async () => {
    const many = makeHome()
    // Segments of up to 255 bytes are directories DSH could have made; longer ids lie where they can.
    IDS.forEach((id, index) => {
      const segment = id === '' ? '' : sessionSegment(id)
      const session = segment === '' || segment.length > 255 ? `place-${index}` : segment
      many.write(log(id, `text ${index}`), { session, project: `--${index}--` })
    })
    for (const [index, id] of IDS.entries()) {
      const { header, path } = await locateSession(id, { roots: [many.root] })
      expect(header.id).toBe(id)
      expect(path).toContain(`--${index}--`)
      const { sources } = await prepare({
        message: `see ${encodeSessionUri(id)} .`,
        roots: [many.root],
      })
      expect(sources[0]?.data).toMatchObject({ sessionId: id, conversation: [{ text: `text ${index}` }] })
    }
    const { candidates } = await listCandidates({ roots: [many.root], limit: 100 })
    expect(candidates.map(({ sessionId }) => sessionId).sort()).toEqual([...IDS].sort())
    many.remove()
  })

  test.each(['..', '../beside', '../../etc/passwd', '.', 'beside/../beside', 'x'.repeat(5000), '~', '\0', ''])(
    '%j that is no session is not found, whatever lies at that path',
    async (id) => {
      await expect(locateSession(id, { roots: [home.root] })).rejects.toMatchObject({ facts: { reason: 'not-found' } })
    },
  )

  test('a path with a NUL is refused as a path, not as a bug', async () => {
    const path = join(home.root, 'a\0b.jsonl')
    const source = { kind: 'file', path, encoding: 'raw' } as const
    await expect(readSurface(source)).rejects.toBeInstanceOf(DshRefError)
    await expect(checkPath(path, { roots: [] })).resolves.toMatchObject({ status: 'unreadable' })
  })
})
