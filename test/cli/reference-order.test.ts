// Point 6 of issue 14: self-reference and the limit are told from the ids, whether or not there are logs of them.

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { prepare } from '../../src/pipeline.ts'
import { encodeSessionUri } from '../../src/reference/uri.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { run } from '../support/program.ts'
import { logOf, user } from '../support/rows.ts'

let home: Home

beforeAll(() => {
  home = makeHome()
  for (const id of ['present-1', 'present-2', 'present-3', 'target-on-disk'])
    home.write(logOf(4, [user(`text of ${id}`)], { id }))
})

afterAll(() => home.remove())

const refs = (...names: string[]) => names.flatMap((name) => ['--ref', name])
const mention = (id: string) => `see @[x](${encodeSessionUri(id)})`

const SELF = { status: 3, stdout: '', code: 'SELF_REFERENCE' }
const MANY = { status: 3, stdout: '', code: 'TOO_MANY' }
const MISSING = { status: 4, stdout: '', code: 'READ_FAILED' }

async function outcomeOf(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, stdout, stderr } = await run(['prepare', ...args, '--root', home.root], { env })
  return { status, stdout, code: /\[SESSION_REFERENCE_(\w+)\]\n$/.exec(stderr)?.[1] }
}

describe('prepare --ref with sessions that are not there', () => {
  const four = ['missing-a', 'missing-b', 'missing-c', 'missing-d']
  const cases: readonly [string, readonly string[], typeof SELF][] = [
    ['one too many ids', ['go', ...refs(...four)], MANY],
    ['one too many URIs', ['go', ...refs(...four.map(encodeSessionUri))], MANY],
    ['one too many mentions', ['go', ...refs(...four.map((id) => `@[x](${encodeSessionUri(id)})`))], MANY],
    ['one too many forced ids', ['go', ...refs(...four.map((id) => `id:${id}`))], MANY],
    ['mentions and --ref together', [four.slice(0, 2).map(mention).join(), ...refs(...four.slice(2))], MANY],
    ['more than --max-references', ['go', ...refs('missing-a', 'missing-b'), '--max-references', '1'], MANY],
    ['duplicates that leave three', ['go', ...refs(...four.slice(0, 3), 'missing-a', 'missing-c')], MISSING],
    ['a text that begins another, and so may be the same', ['go', ...refs('missing', ...four.slice(0, 3))], MANY],
    ['the target', ['go', '--target', 'missing-a', ...refs('missing-a')], SELF],
    ['the target by its URI', ['go', '--target', 'missing-a', ...refs(encodeSessionUri('missing-a'))], SELF],
    ['the target in a mention', [mention('missing-a'), '--target', 'missing-a'], SELF],
    ['the target, and too many', ['go', '--target', 'missing-a', ...refs(...four)], SELF],
    ['the target beside one that begins with it', ['go', '--target', 'miss-12', ...refs('miss-12', 'miss-123')], SELF],
    ['only a few', ['go', '--target', 'missing-a', ...refs('missing-b')], MISSING],
  ]
  for (const [what, args, expected] of cases) {
    test(`tells of ${what} with status ${expected.status}`, async () => {
      expect(await outcomeOf(args)).toEqual(expected)
    })
  }

  test('tells of the session of $DSH_SESSION_JSONL before others are looked for', async () => {
    const log = home.write(logOf(4, [user('x')], { id: 'running' }), { session: 'elsewhere' })
    const env = { DSH_SESSION_JSONL: log }
    expect(await outcomeOf(['go', ...refs('missing-a', 'running')], env)).toEqual(SELF)
    expect(await outcomeOf(['go', ...refs('missing-a'), '--target', 'missing-a'], env)).toEqual(SELF)
  })

  test('tells of a malformed mention before the target and the limit', async () => {
    expect(await outcomeOf(['@[x](dsh-session:)', ...refs(...four)])).toEqual({
      status: 3,
      stdout: '',
      code: 'INVALID_REFERENCE',
    })
  })
})

describe('prepare --ref with sessions that are there', () => {
  test('counts a beginning and a path as the session they lead to', async () => {
    const path = join(home.root, '--work-app--', 'present-1')
    const same = refs('present-1', path, encodeSessionUri('present-1'), 'present-2', 'present-3')
    expect(await outcomeOf(['go', ...same, '--format', 'json'])).toMatchObject({ status: 0 })
    const short = refs('target-on-disk', 'target-on', 'target-o', 'target')
    expect(await outcomeOf(['go', ...short])).toMatchObject({ status: 0 })
    expect(await outcomeOf(['go', '--target', 'target-on-disk', ...refs('target-on')])).toEqual(SELF)
  })
})

describe('prepare() of the library', () => {
  const request = (ids: readonly string[], more = {}) =>
    prepare({ message: 'go', roots: [home.root], references: ids.map((sessionId) => ({ sessionId })), ...more })

  test('tells of the target and the limit before it locates anything', async () => {
    const located: string[] = []
    const onLocated = ({ path }: { path: string }) => located.push(path)
    const ids = ['present-1', 'present-2', 'missing-a', 'missing-b']
    await expect(request(ids, { onLocated })).rejects.toMatchObject({ code: 'SESSION_REFERENCE_TOO_MANY' })
    await expect(request(['present-1', 'missing-a'], { target: 'missing-a', onLocated })).rejects.toMatchObject({
      code: 'SESSION_REFERENCE_SELF_REFERENCE',
    })
    expect(located).toEqual([])
    await request(['present-1'], { onLocated })
    expect(located).toEqual([join(home.root, '--work-app--', 'present-1', 'session.v4.jsonl')])
  })
})
