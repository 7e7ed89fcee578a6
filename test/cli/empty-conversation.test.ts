// Point 8 of issue 14: a session without any text left to refer to is said to be one.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { prepare } from '../../src/pipeline.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { run } from '../support/program.ts'
import { assistant, logOf, logOnly, type MadeRow, user } from '../support/rows.ts'

let home: Home

const EMPTY: readonly [string, readonly MadeRow[]][] = [
  ['without-events', []],
  ['emptied', [user(''), assistant('')]],
  ['white-space', [user(' \n')]],
  ['only-log-events', [logOnly('turn/end')]],
]

beforeAll(() => {
  home = makeHome()
  for (const [id, rows] of EMPTY) home.write(logOf(4, rows, { id }))
  home.write(logOf(4, [user('a text')], { id: 'with-text' }))
})

afterAll(() => home.remove())

const runHere = (...args: string[]) => run([...args, '--root', home.root])
const COMMANDS: readonly (readonly string[])[] = [
  ...['text', 'snapshot', 'json', 'jsonl', 'chat'].map((format) => ['prepare', 'go', '--format', format, '--ref']),
  ['prepare', 'go', '--dry-run', '--ref'],
  ['prepare', 'go', '--dry-run', '--format', 'json', '--ref'],
  ...['spill', 'markdown', 'text', 'json'].map((format) => ['transcript', '--format', format]),
]

describe('an empty conversation', () => {
  test.each(COMMANDS.map((command) => [command.join(' '), command] as const))(
    'is said by %s on stderr, and refused with --strict',
    async (_, command) => {
      const { status, stderr } = await runHere(...command, 'emptied')
      // The transcript says of every turn without text that it is left out.
      const others = command[0] === 'transcript' ? /^dsh-ref: 1 turn of the user holds no text [^\n]*\n/ : /^/
      expect({ status, stderr: stderr.replace(others, '') }).toEqual({
        status: 0,
        stderr: 'dsh-ref: 1 issue: empty conversation in emptied\n',
      })
      const strict = await runHere(...command, 'emptied', '--strict')
      expect({ status: strict.status, stdout: strict.stdout }).toEqual({ status: 4, stdout: '' })
      expect(strict.stderr).toMatch(
        /^dsh-ref: With --strict nothing is printed: 1 issue: empty conversation in emptied/,
      )
      expect(await runHere(...command, 'with-text', '--strict')).toMatchObject({ status: 0, stderr: '' })
    },
  )

  test('is said beside what --explain says', async () => {
    const { status, stderr } = await runHere('prepare', 'go', '--explain', '--ref', 'emptied')
    expect(status).toBe(0)
    expect(stderr).toMatch(/\ndsh-ref: 1 issue: empty conversation in emptied\n$/)
  })

  test.each(EMPTY.map(([id]) => id))('is an issue of the library: %s', async (id) => {
    const { issues } = await prepare({ message: '', roots: [home.root], references: [{ sessionId: id }] })
    expect(issues.filter(({ kind }) => kind === 'empty-conversation')).toEqual([
      {
        kind: 'empty-conversation',
        message: 'The session has no text of a user or an assistant, so there is nothing to refer to',
        sessionId: id,
      },
    ])
  })

  test('has the reason not-found when it is refused', async () => {
    const { stderr } = await runHere('prepare', 'go', '--ref', 'emptied', '--strict', '--error-format', 'json')
    expect(JSON.parse(stderr).error).toMatchObject({ code: 'SESSION_REFERENCE_READ_FAILED', reason: 'not-found' })
  })
})
