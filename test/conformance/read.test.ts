// The cases of fold.json and read.json: what the reference service makes of raw logs.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { DshRefError, project, readSurface } from '../../src/index.ts'
import { CONFORMANCE } from '../support/conformance.ts'
import { makeHome } from '../support/homes.ts'

interface Case {
  readonly name: string
  readonly input: { readonly log: string }
  readonly expected: {
    readonly refused?: true
    readonly acceptedWithIssue?: true
    readonly nodes?: number[]
    readonly replacements?: unknown[]
    readonly surfaceSeqs?: number[]
    readonly capturedThroughSeq?: number | null
    readonly conversation?: { role: string; text: string }[]
    readonly title?: string | null
  }
}

const home = makeHome()
afterAll(() => home.remove())

async function read(log: string) {
  const path = home.write(log, { project: 'p', session: 's' })
  try {
    return await readSurface({ kind: 'file', path, encoding: 'raw' })
  } catch (error) {
    if (error instanceof DshRefError && error.code === 'SESSION_REFERENCE_READ_FAILED') return undefined
    throw error
  }
}

function casesOf(file: string): Case[] {
  return CONFORMANCE ? JSON.parse(readFileSync(join(CONFORMANCE, 'cases', file), 'utf8')) : []
}

describe.skipIf(!CONFORMANCE)('the conformance cases (skipped when ../shared/conformance is not there)', () => {
  const foldCases = casesOf('fold.json')
  it.each(foldCases.map((c) => [c.name, c] as const))(
    'fold %s as the service does',
    async (_name, { input, expected }) => {
      const surface = await read(input.log)
      if (expected.refused) return expect(surface).toBeUndefined()
      expect({ nodes: surface?.nodes, replacements: surface?.replacements }).toEqual(expected)
    },
  )

  const readCases = casesOf('read.json')
  it.each(readCases.map((c) => [c.name, c] as const))(
    'read %s as the service does',
    async (_name, { input, expected }) => {
      const surface = await read(input.log)
      if (expected.refused) return expect(surface).toBeUndefined()
      expect(surface?.nodes).toEqual(expected.surfaceSeqs)
      expect(surface?.capturedThroughSeq).toEqual(expected.capturedThroughSeq)
      if (expected.title !== undefined) expect(surface?.title ?? null).toEqual(expected.title)
      if (expected.conversation) {
        const { messages } = project(surface?.messages ?? [])
        expect(messages.map(({ role, text }) => ({ role, text }))).toEqual(expected.conversation)
      }
      if (expected.acceptedWithIssue) expect(surface?.issues).not.toEqual([])
    },
  )

  it('ran every case', () => {
    process.stderr.write(`conformance: ${foldCases.length} fold cases, ${readCases.length} read cases\n`)
    expect(foldCases.length + readCases.length).toBeGreaterThan(0)
  })
})
