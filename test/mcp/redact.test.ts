// The server with masking asked for: no answer of any tool, resource or refusal holds a piece of a secret.

import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeSessionUri } from '../../src/index.ts'
import type { Home } from '../support/homes.ts'
import { LEAKY, leaksIn, leakyLog, makeLeakyHome, PLACEHOLDER, SECRET } from '../support/leaky-home.ts'
import { type ConnectedClient, call, connect } from '../support/mcp-client.ts'

let home: Home
let server: ConnectedClient
beforeAll(async () => {
  home = makeLeakyHome()
  const path = home.write(leakyLog('damaged'))
  writeFileSync(path, `${leakyLog('damaged')}{"type":"${SECRET}"\n{}\n`)
  server = await connect(['--root', home.root, '--no-cache', '--redact'])
})
afterAll(async () => {
  await server.client.close()
  home.remove()
})

describe('mcp --redact', () => {
  test.each([
    ['list_sessions', {}],
    ['search_sessions', { pattern: 'token' }],
    ['search_sessions', { pattern: SECRET.slice(0, 6) }],
    ['prepare_reference', { sessions: [LEAKY] }],
    ['prepare_reference', { sessions: [LEAKY], max_reference_bytes: 700 }],
    ['read_transcript', { session: LEAKY }],
    ['read_transcript', { session: LEAKY, max_bytes: 1024 }],
    ['read_transcript', { session: 'damaged' }],
  ])('%s %o answers without a piece of a secret', async (name, args) => {
    const { result } = await call(server, name, args)
    const said = JSON.stringify(result)
    expect(leaksIn(said)).toEqual([])
    if (!('session' in args) || args.session !== 'damaged') expect(said).toContain(PLACEHOLDER)
  })

  test('so do the resources', async () => {
    const listed = JSON.stringify(await server.client.listResources())
    const read = JSON.stringify(await server.client.readResource({ uri: encodeSessionUri(LEAKY) }))
    expect(leaksIn(listed + read)).toEqual([])
    expect(listed).toContain(PLACEHOLDER)
    expect(read).toContain(PLACEHOLDER)
  })
})
