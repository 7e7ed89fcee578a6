// Which issues a line on stderr names when it cannot name all: the gravest, whatever the order in which they were met.
import { describe, expect, test } from 'vitest'
import { createPrint } from '../../src/cli/print.ts'
import { describeIssues } from '../../src/render/issues.ts'
import type { Issue, IssueKind } from '../../src/types.ts'

const issue = (kind: IssueKind, file: string): Issue => ({ kind, message: 'm', file })
const MIXED = [
  issue('stray-file', '/s'),
  issue('torn-tail', '/t'),
  issue('unknown-event-type', '/e'),
  issue('unsupported-log', '/u'),
  issue('corrupt-log', '/c'),
  issue('unreadable-log', '/r'),
]

describe('issues', () => {
  test('are named from the gravest down, and the rest is counted', () => {
    expect(describeIssues(MIXED)).toBe(
      '6 issues: corrupt log in /c; unreadable log in /r; unsupported log in /u; and 3 more',
    )
    expect(describeIssues(MIXED.slice(0, 3))).toBe(
      '3 issues: unknown event type in /e; torn tail in /t; stray file in /s',
    )
  })

  test('of one gravity are named as they were met', () => {
    expect(describeIssues([issue('torn-tail', '/b'), issue('torn-tail', '/a')])).toBe(
      '2 issues: torn tail in /b; torn tail in /a',
    )
  })

  test('give a refusal of --strict the reason of the gravest', () => {
    const print = createPrint({
      stdout: { write: async () => undefined },
      stdoutIsTerminal: false,
      stderr: { write: async () => undefined },
      globals: { strict: true, quiet: false },
      signal: new AbortController().signal,
    })
    const reasonOf = (issues: readonly Issue[]) => {
      try {
        print.refuseIfStrict(issues)
      } catch (error) {
        return (error as { reason?: string }).reason
      }
      return undefined
    }
    expect(reasonOf(MIXED)).toBe('corrupt')
    expect(reasonOf([issue('stray-file', '/s'), issue('unreadable-entry', '/r')])).toBe('unreadable')
  })
})
