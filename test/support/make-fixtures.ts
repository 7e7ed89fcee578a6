// Writes fixtures/home: a small sessions root that shows what the tool is for. Run it by hand with a Node that has zstd:
//   node test/support/make-fixtures.ts

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as zlib from 'node:zlib'
import { projectSegment, sessionSegment } from '../../src/locate/paths.ts'

const ROOT = fileURLToPath(new URL('../../fixtures/home/sessions', import.meta.url))

interface Header {
  readonly version: number
  readonly id: string
  readonly createdAt: number
  readonly cwd?: string
  readonly origin?: string
  readonly parentSession?: string
}

type Row =
  | { type: string; data: unknown; surfaceOp?: unknown; sourceEventSeqs?: unknown }
  | { type: string; texts: string[] }

const human = (id: string, text: string): Row => ({
  type: 'user/message',
  data: { id, role: 'user', content: [{ type: 'text', text }], source: { kind: 'user' } },
  surfaceOp: 'append',
})
const model = (version: number, turn: number, id: string, text: string): Row => ({
  type: 'assistant/message',
  data: {
    turn,
    step: 1,
    message: {
      id,
      role: 'assistant',
      content: [{ type: 'text', text }],
      source: { kind: 'model', provider: 'example', model: 'example-1' },
    },
    ...(version >= 2 && { stream: [] }),
  },
  surfaceOp: 'append',
})
const start = (turn: number): Row[] => [
  { type: 'turn/start', data: { turn } },
  { type: 'step/start', data: { turn, step: 1 } },
]
const end = (turn: number): Row[] => [
  { type: 'step/end', data: { turn, step: 1 } },
  { type: 'turn/end', data: { turn, reason: { kind: 'completed' } } },
]
const title = (text: string): Row => ({
  type: 'session/title',
  data: { title: text, messageSeqs: [], source: { kind: 'user' } },
})
const system = (): Row => ({
  type: 'system/message',
  data: {
    turn: 1,
    step: 1,
    message: {
      id: 's1',
      role: 'system',
      content: [{ type: 'text', text: 'You are a coding agent.' }],
      source: { kind: 'system-prompt' },
    },
  },
  surfaceOp: 'append',
})

function write(header: Header, rows: readonly Row[], encoding: 'raw' | 'zstd', tail = ''): void {
  const time = header.createdAt + 1000
  const head = {
    type: 'session',
    version: header.version,
    id: header.id,
    createdAt: header.createdAt,
    ...(header.cwd !== undefined && { cwd: header.cwd }),
    ...(header.parentSession !== undefined && { parentSession: header.parentSession }),
    ...(header.version >= 2 && { isSeeded: false }),
    ...(header.origin !== undefined && { origin: header.origin }),
    delegationDepth: header.origin === 'subagent' ? 1 : 0,
  }
  let seq = 0
  const lines = rows.map((row) => {
    if ('texts' in row) {
      const { type, texts } = row
      const data = { turn: 1, step: 1, index: 0, dt: texts.slice(1).map(() => 20), texts }
      const line = { type, seq0: seq, time0: time + seq, data }
      seq += texts.length
      return line
    }
    const { type, data, surfaceOp, sourceEventSeqs } = row
    const line = {
      type,
      seq,
      time: time + seq,
      data,
      ...(sourceEventSeqs !== undefined && { sourceEventSeqs }),
      ...(surfaceOp !== undefined && { surfaceOp }),
    }
    seq++
    return line
  })
  const suffix = encoding === 'zstd' ? '.zstd' : ''
  const name = `session${header.version === 0 ? '' : `.v${header.version}`}.jsonl${suffix}`
  const path = join(ROOT, projectSegment(header.cwd), sessionSegment(header.id), name)
  mkdirSync(dirname(path), { recursive: true })
  const headLine = `${JSON.stringify(head)}\n`
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('') + tail
  writeFileSync(path, encoding === 'raw' ? headLine + body : Buffer.concat([frame(headLine), frame(body)]))
}

function frame(text: string): Buffer {
  const { zstdCompressSync, constants } = zlib as unknown as {
    zstdCompressSync(data: Buffer, options: unknown): Buffer
    constants: Record<string, number>
  }
  return zstdCompressSync(Buffer.from(text), { params: { [constants.ZSTD_c_checksumFlag as number]: 1 } })
}

rmSync(ROOT, { recursive: true, force: true })

write(
  { version: 0, id: 'login-fix', createdAt: 1_790_000_000_000, cwd: '/work/shop' },
  [
    ...start(1),
    human('m1', 'The login page redirects in a circle when the session cookie is old. Find out why.'),
    { type: 'text-chunks', texts: ['The redirect', ' comes from', ' `requireUser`.'] },
    model(
      0,
      1,
      'm2',
      'The redirect comes from `requireUser`: it sends an expired cookie to /login, and /login sends it back.',
    ),
    ...end(1),
    title('Fix the login redirect'),
    ...start(2),
    human('m3', 'Clear the cookie there, and write a test.'),
    {
      type: 'tool/result',
      data: {
        turn: 2,
        step: 1,
        message: {
          id: 'm4',
          role: 'user',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'c1',
              isError: false,
              content: [{ type: 'text', text: '14 tests passed' }],
            },
          ],
          source: { kind: 'tool', callId: 'c1' },
        },
      },
      surfaceOp: 'append',
    },
    model(0, 2, 'm5', 'Done: `requireUser` clears an expired cookie, and test/login.test.ts covers it.'),
    ...end(2),
    { type: 'compaction/start', data: { compactionId: 'k1' } },
    { type: 'compaction/summary', data: { compactionId: 'k1' } },
    {
      type: 'user/message',
      data: {
        id: 'm6',
        role: 'user',
        content: [
          {
            type: 'text',
            text: 'Summary: the login page looped because an expired cookie was never cleared. `requireUser` clears it now; test/login.test.ts covers it.',
          },
        ],
        source: { kind: 'plugin', plugin: 'compact', compactionId: 'k1' },
      },
      sourceEventSeqs: [2, 6, 12, 13, 14, 17, 18],
      surfaceOp: { op: 'replace', start: 2, end: 14 },
    },
    { type: 'compaction/end', data: { compactionId: 'k1' } },
    ...start(3),
    human('m7', 'Does the same happen on the admin page?'),
    model(0, 3, 'm8', 'No. The admin page uses `requireAdmin`, which never redirects; it answers 401.'),
    ...end(3),
  ],
  'raw',
)

write(
  { version: 4, id: 'checkout-tests', createdAt: 1_790_100_000_000, cwd: '/work/shop' },
  [
    ...start(1),
    system(),
    human('m1', '给结账页面写测试 (write tests for the checkout page).'),
    model(4, 1, 'm2', 'I wrote 6 tests in test/checkout.test.ts. One fails: a coupon of 100 % gives a total of -0. 🧾'),
    ...end(1),
    title('结账页面测试'),
  ],
  'zstd',
)

write(
  { version: 3, id: 'scratch', createdAt: 1_789_900_000_000 },
  [
    ...start(1),
    system(),
    human('m1', 'What does `</referenced-sessions>` mean?'),
    model(3, 1, 'm2', 'It closes the block of referenced sessions.'),
    ...end(1),
  ],
  'raw',
)

write(
  {
    version: 4,
    id: 'checkout-tests/reviewer',
    createdAt: 1_790_100_500_000,
    cwd: '/work/shop',
    origin: 'subagent',
    parentSession: 'checkout-tests',
  },
  [
    ...start(1),
    system(),
    human('m1', 'Review test/checkout.test.ts.'),
    model(4, 1, 'm2', 'The tests share a cart; make a new one in each.'),
    ...end(1),
  ],
  'raw',
)

write(
  { version: 4, id: 'current', createdAt: 1_790_200_000_000, cwd: '/work/shop' },
  [
    { type: 'request/context', data: { provider: 'example', model: 'example-1', contextWindow: 128_000 } },
    ...start(1),
    system(),
    human('m1', 'Continue with the admin page.'),
  ],
  'raw',
  '{"type":"assistant/message","seq":5,"ti',
)
