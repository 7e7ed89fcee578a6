// Finding sessions: arguments, roots, generations, duplicates (FORMAT.md section 1, DESIGN.md section 4).

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseSessionArgument } from '../../src/locate/argument.ts'
import { locatePath, locateSession } from '../../src/locate/locate.ts'
import { parseLogName, projectSegment, sessionSegment } from '../../src/locate/paths.ts'
import { encodeSessionUri, formatMention } from '../../src/reference/uri.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { logOf, user } from '../support/rows.ts'

let home: Home
beforeEach(() => {
  home = makeHome()
})
afterEach(() => home.remove())

const options = () => ({ roots: [home.root] })
const log = (version: number, id: string, header = {}) => logOf(version, [user('a')], { id, ...header })

describe('names on disk', () => {
  test.each([
    ['/work/app', '--work-app--'],
    ['C:\\w', '--C-w--'],
    ['/', '--root--'],
    ['/home/用户/proj x', '--home-~7528~6237-proj~0020x--'],
    ['/a//b::c', '--a-b-c--'],
    ['~/x', '--~007E-x--'],
  ])('projectSegment(%j) is %j', (cwd, segment) => expect(projectSegment(cwd)).toBe(segment))

  test('projectSegment() of no cwd is _no-cwd, and a long one is cut at 251 units', () => {
    expect(projectSegment(undefined)).toBe('_no-cwd')
    expect(projectSegment(`/${'x'.repeat(300)}`)).toBe(`--${'x'.repeat(251)}--`)
  })

  test.each([
    ['abc-1_2.3', 'abc-1_2.3'],
    ['.', '~002E'],
    ['..', '~002E~002E'],
    ['sub/agent:1', 'sub~002Fagent~003A1'],
    ['\ud800', '~D800'],
    ['a~b', 'a~007Eb'],
  ])('sessionSegment(%j) is %j', (id, segment) => expect(sessionSegment(id)).toBe(segment))

  test.each([
    'session.v0.jsonl',
    'session.v01.jsonl',
    'Session.jsonl',
    'session.jsonl.tmp',
    'session.v4.JSONL',
    'session.v99999999999999999999.jsonl',
    'xsession.jsonl',
  ])('%s is no log name', (name) => expect(parseLogName(name)).toBeUndefined())

  test('session.jsonl is version 0 and session.vN.jsonl.zstd a compressed version N', () => {
    expect(parseLogName('session.jsonl')).toEqual({ version: 0, encoding: 'raw' })
    expect(parseLogName('session.v12.jsonl.zstd')).toEqual({ version: 12, encoding: 'zstd' })
  })
})

describe('parseSessionArgument()', () => {
  test('reads a URI, a mention, standard input, a path and an id, in this order', () => {
    const path = home.write(log(0, 'here'))
    const parse = (argument: string) => parseSessionArgument(argument, dirname(path))
    expect(parse(encodeSessionUri('a b'))).toEqual({ kind: 'id', sessionId: 'a b', allowPrefix: false })
    expect(parse(formatMention({ sessionId: 'x', label: 'L]' }))).toMatchObject({
      kind: 'id',
      sessionId: 'x',
      label: 'L]',
    })
    expect(parse('-')).toEqual({ kind: 'stdin' })
    expect(parse('session.jsonl')).toEqual({ kind: 'path', path })
    expect(parse(path)).toEqual({ kind: 'path', path })
    expect(parse('sub/agent')).toEqual({ kind: 'id', sessionId: 'sub/agent', allowPrefix: true })
    expect(parse('missing.jsonl')).toEqual({ kind: 'id', sessionId: 'missing.jsonl', allowPrefix: true })
  })

  test('id: and path: force a reading', () => {
    expect(parseSessionArgument('id:-', '/')).toMatchObject({ kind: 'id', sessionId: '-' })
    expect(parseSessionArgument('path:x', '/tmp')).toEqual({ kind: 'path', path: '/tmp/x' })
  })

  test('refuses a malformed URI instead of taking it for an id', () => {
    expect(() => parseSessionArgument('dsh-session:zzz', '/')).toThrow(
      expect.objectContaining({ code: 'SESSION_REFERENCE_INVALID_REFERENCE' }),
    )
  })
})

describe('locateSession()', () => {
  test('finds an exact id whatever characters it has', async () => {
    for (const id of ['plain', 'sub/agent:1', '..', '\ud800x', 'con', '引号"\\\n']) {
      home.write(log(0, id))
      expect((await locateSession(id, options())).header.id).toBe(id)
    }
  })

  test('says of a title that sessions are named by id', async () => {
    home.write(log(0, 'plain'))
    await expect(locateSession('Fix the login', options())).rejects.toThrow(
      /No session "Fix the login" in .*; a session is named by its id, which "dsh-ref list" finds by title/,
    )
  })

  test('takes the numerically highest generation', async () => {
    for (const version of [0, 3, 4]) home.write(log(version, 'many'))
    expect(await locateSession('many', options())).toMatchObject({ header: { version: 4 }, mode: 'native' })
  })

  test('never falls back to an older generation when the newest is damaged or unknown', async () => {
    const path = home.write(log(3, 'many'))
    writeFileSync(join(dirname(path), 'session.v4.jsonl'), 'nonsense\n')
    await expect(locateSession('many', options())).rejects.toMatchObject({ facts: { reason: 'corrupt' } })
    writeFileSync(join(dirname(path), 'session.v10.jsonl'), log(10, 'many'))
    await expect(locateSession('many', options())).rejects.toMatchObject({ facts: { reason: 'unsupported' } })
  })

  test('refuses a log whose name and header name different versions', async () => {
    home.write(log(3, 'liar'), { name: 'session.v4.jsonl' })
    await expect(locateSession('liar', options())).rejects.toMatchObject({
      facts: { reason: 'corrupt', rule: 'version-mismatch', expected: 4, actual: 3 },
    })
  })

  test('refuses one version stored raw and compressed at once, and reports older ones in the other encoding', async () => {
    const path = home.write(log(4, 'mixed'))
    writeFileSync(join(dirname(path), 'session.v3.jsonl.zstd'), '')
    expect((await locateSession('mixed', options())).issues).toMatchObject([{ kind: 'encoding-mismatch' }])
    writeFileSync(join(dirname(path), 'session.v4.jsonl.zstd'), '')
    await expect(locateSession('mixed', options())).rejects.toMatchObject({ facts: { reason: 'ambiguous' } })
  })

  test('the same id in two projects is ambiguous, and names both', async () => {
    home.write(log(0, 'twin'))
    home.write(log(0, 'twin', { cwd: '/other' }))
    await expect(locateSession('twin', options())).rejects.toMatchObject({
      facts: {
        reason: 'ambiguous',
        candidates: [expect.stringContaining('--other--'), expect.stringContaining('--work-app--')],
      },
    })
  })

  test('the id in the header counts, the name of the directory does not', async () => {
    home.write(log(0, 'real-id'), { session: 'other-name' })
    expect(await locateSession('real-id', options())).toMatchObject({
      header: { id: 'real-id' },
      issues: [{ kind: 'path-mismatch' }],
    })
    await expect(locateSession('other-name', options())).rejects.toMatchObject({ facts: { reason: 'not-found' } })
  })

  test('a prefix of six characters finds one session on the command line, and never for a URI', async () => {
    home.write(log(0, 'abcdef-1'))
    expect((await locateSession('abcdef', { ...options(), allowPrefix: true })).header.id).toBe('abcdef-1')
    await expect(locateSession('abcde', { ...options(), allowPrefix: true })).rejects.toMatchObject({
      facts: { reason: 'not-found' },
    })
    await expect(locateSession('abcdef', options())).rejects.toMatchObject({
      facts: { reason: 'not-found', candidates: ['abcdef-1'] },
    })
    home.write(log(0, 'abcdef-2'))
    await expect(locateSession('abcdef', { ...options(), allowPrefix: true })).rejects.toMatchObject({
      facts: { reason: 'ambiguous', candidates: ['abcdef-1', 'abcdef-2'] },
    })
  })

  test('a root given twice, once by a link, counts once', async () => {
    home.write(log(0, 'only'))
    const link = join(dirname(home.root), `${Date.now()}-link`)
    symlinkSync(home.root, link)
    expect((await locateSession('only', { roots: [home.root, link] })).header.id).toBe('only')
  })

  test.each(['', '.', '~', 'x'.repeat(4096), '\0'])('an id that is nobody is not found: %j', async (id) => {
    home.write(log(0, 'somebody'))
    await expect(locateSession(id, options())).rejects.toMatchObject({ facts: { reason: 'not-found' } })
  })
})

describe('locatePath()', () => {
  test('takes a session directory, a log of any name, and an older generation as history', async () => {
    const old = home.write(log(3, 'many'))
    home.write(log(4, 'many'))
    expect((await locatePath(dirname(old), options())).header.version).toBe(4)
    expect(await locatePath(old, options())).toMatchObject({ header: { version: 3 }, mode: 'historical' })
    const copy = join(home.root, 'copy of a log.jsonl')
    writeFileSync(copy, log(2, 'copied'))
    expect((await locatePath(copy, options())).header.id).toBe('copied')
  })

  test('says what is wrong with a directory without a log and with a missing path', async () => {
    mkdirSync(join(home.root, 'empty'))
    await expect(locatePath(join(home.root, 'empty'), options())).rejects.toMatchObject({
      facts: { reason: 'not-found' },
    })
    await expect(locatePath(join(home.root, 'nowhere'), options())).rejects.toMatchObject({
      facts: { reason: 'not-found', errno: 'ENOENT' },
    })
  })
})
