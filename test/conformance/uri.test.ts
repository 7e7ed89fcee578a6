// Session URIs and mentions against the reference service.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { DshRefError } from '../../src/errors.ts'
import { decodeSessionUri, encodeSessionUri, formatMention, parseReferenceText } from '../../src/reference/uri.ts'
import { CONFORMANCE } from '../support/conformance.ts'

type Case = { readonly name: string; readonly expected: unknown } & (
  | { readonly op: 'uri-encode'; readonly input: { readonly sessionId: string } }
  | { readonly op: 'uri-decode'; readonly input: { readonly uri: string } }
  | { readonly op: 'format-mention'; readonly input: { readonly sessionId: string; readonly label?: string } }
  | { readonly op: 'parse-text'; readonly input: { readonly text: string } }
)

function run(given: Case): unknown {
  switch (given.op) {
    case 'uri-encode':
      return { uri: encodeSessionUri(given.input.sessionId) }
    case 'uri-decode':
      return { sessionId: decodeSessionUri(given.input.uri) }
    case 'format-mention':
      return { mention: formatMention(given.input) }
    case 'parse-text':
      return parseReferenceText(given.input.text)
  }
}

function runOrRefuse(given: Case): unknown {
  try {
    return run(given)
  } catch (error) {
    if (error instanceof DshRefError) return { error: error.code }
    throw error
  }
}

describe.skipIf(CONFORMANCE === undefined)(
  'session URIs of the service (skipped without the conformance folder)',
  () => {
    let ran = 0
    afterAll(() => {
      process.stdout.write(`session URIs ran ${ran} cases\n`)
    })

    const cases: Case[] = CONFORMANCE ? JSON.parse(readFileSync(join(CONFORMANCE, 'cases', 'uri.json'), 'utf8')) : []
    for (const given of cases) {
      it(given.name, () => {
        ran += 1
        expect(runOrRefuse(given)).toEqual(given.expected)
      })
    }
  },
)
