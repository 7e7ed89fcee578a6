// Case 1 of issue 5: one corrupt log among good ones leaves the others as they were, in every command that reads many.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Home, makeHome } from '../support/homes.ts'
import { run } from '../support/program.ts'
import { assistant, logOf, logOnly, user } from '../support/rows.ts'
import { rawBlocks, writeFrame } from '../support/zstd-writer.ts'

const ENV = { DSH_REF_CACHE_DIR: '', XDG_CACHE_HOME: '' }
const title = (text: string) => logOnly('session/title', { title: text, messageSeqs: [], source: { kind: 'user' } })
const good = (id: string) => logOf(4, [user(`hello ${id}`), assistant('hi'), title(`Title of ${id}`)], { id })
const zstd = (log: string, fields = {}) => {
  const cut = log.indexOf('\n') + 1
  return Buffer.concat([writeFrame(rawBlocks(log.slice(0, cut))), writeFrame(rawBlocks(log.slice(cut)), fields)])
}

let home: Home
const on = (...args: string[]) => run([...args, '--root', home.root], { env: { ...ENV, HOME: home.root } })

/** The damaged logs, by session directory: contents, and what each is said to be. */
const DAMAGED: Readonly<Record<string, { log: string | Buffer; name?: string; status: string; issue?: string }>> = {
  empty: { log: '', name: 'session.jsonl', status: 'corrupt', issue: 'corrupt-log' },
  noise: { log: Buffer.alloc(5000, 0x9f), name: 'session.v4.jsonl.zstd', status: 'corrupt', issue: 'corrupt-log' },
  headless: { log: logOf(4, [user('x')]).slice(5), name: 'session.v4.jsonl', status: 'corrupt', issue: 'corrupt-log' },
  fold: { log: logOf(4, [user('x', { surfaceOp: null }), logOnly('turn/end')], { id: 'fold' }), status: 'corrupt' },
  checksum: {
    log: zstd(good('checksum'), { checksum: 1 }),
    name: 'session.v4.jsonl.zstd',
    status: 'corrupt',
  },
  future: {
    log: logOf(77, [user('x')], { id: 'future' }),
    name: 'session.v77.jsonl',
    status: 'unsupported',
    issue: 'unsupported-log',
  },
}

const outputs = async () => ({
  list: JSON.parse((await on('list', '--format', 'json', '--no-cache')).stdout) as { sessionId: string }[],
  prepared: await on('prepare', '--ref', 'good-raw', '--ref', 'good-zstd', '--format', 'json', 'go on'),
})
let before: Awaited<ReturnType<typeof outputs>>

beforeAll(async () => {
  home = makeHome()
  home.write(good('good-raw'))
  home.write(zstd(good('good-zstd')), { session: 'good-zstd', project: '--work-app--', name: 'session.v4.jsonl.zstd' })
  before = await outputs()
  for (const [session, { log, name }] of Object.entries(DAMAGED)) {
    const directory = join(home.root, '--work-app--', session)
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, name ?? 'session.v4.jsonl'), log)
  }
})

afterAll(() => home.remove())

const isGood = ({ sessionId }: { sessionId: string | null }) => sessionId?.startsWith('good-') ?? false

describe('among damaged logs', () => {
  test('list shows the good ones as it did before, with their titles', async () => {
    const { list } = await outputs()
    expect(before.list.map(({ sessionId }) => sessionId).sort()).toEqual(['good-raw', 'good-zstd'])
    expect(list.filter(isGood)).toEqual(before.list)
    expect(list.filter(isGood)).toMatchObject([{ health: 'ok' }, { health: 'ok' }])
    const { status, stderr } = await on('list', '--no-cache')
    expect(status).toBe(0)
    expect(stderr).toMatch(/^dsh-ref: \d+ issues: .*corrupt log.*\n$/)
  })

  test('prepare reads the good ones as it did before, and says nothing of the others', async () => {
    expect((await outputs()).prepared).toEqual(before.prepared)
    expect(before.prepared).toMatchObject({ status: 0, stderr: '' })
  })

  test('check --all verifies every log and names each damage', async () => {
    const { status, stdout } = await on('check', '--all', '--format', 'json')
    expect(status).toBe(4)
    const { logs } = JSON.parse(stdout) as { logs: { path: string; sessionId: string | null; status: string }[] }
    expect(logs.filter(isGood).map((log) => log.status)).toEqual(['ok', 'ok'])
    const damaged = logs.filter((log) => !isGood(log)).map((log) => [log.path.split('/').at(-2), log.status])
    expect(Object.fromEntries(damaged)).toEqual(
      Object.fromEntries(Object.entries(DAMAGED).map(([session, log]) => [session, log.status])),
    )
  })
})

describe('a damaged log', () => {
  test.each([
    ['fold', { line: 2, seq: 0, rule: 'surface-op-shape', expected: expect.any(String), actual: null }],
    ['checksum', { frame: 2, rule: 'zstd-checksum', expected: '00000001', actual: expect.any(String) }],
  ])('%s refuses the whole message, with file, place, expected and got', async (id, facts) => {
    const { status, stdout, stderr } = await on('prepare', '--ref', 'good-raw', '--ref', id, '--error-format', 'json')
    expect({ status, stdout }).toEqual({ status: 4, stdout: '' })
    const { error } = JSON.parse(stderr)
    expect(error).toMatchObject({ code: 'SESSION_REFERENCE_READ_FAILED', reason: 'corrupt', ...facts })
    expect(error.file).toContain(`/${id}/session.v4.jsonl`)
  })
})
