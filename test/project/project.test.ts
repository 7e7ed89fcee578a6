// Which surface messages make the conversation, and the titles and labels sessions are shown under.
import { describe, expect, it } from 'vitest'
import { project } from '../../src/project/project.ts'
import { labelOf, titleOf } from '../../src/project/title.ts'
import type { SurfaceMessage } from '../../src/types.ts'

function message(seq: number, fields: Partial<SurfaceMessage> = {}): SurfaceMessage {
  return {
    seq,
    type: 'user/message',
    role: 'user',
    id: `m${seq}`,
    sourceKind: 'user',
    checkpoint: false,
    text: `text ${seq}`,
    ...fields,
  }
}

describe('project()', () => {
  it('keeps what the user and the assistant said, in surface order', () => {
    const surface = [
      message(7),
      message(3, { type: 'assistant/message', role: 'assistant', sourceKind: 'model' }),
      message(9),
    ]
    expect(project(surface)).toEqual({
      messages: [
        { seq: 7, role: 'user', text: 'text 7', checkpoint: false },
        { seq: 3, role: 'assistant', text: 'text 3', checkpoint: false },
        { seq: 9, role: 'user', text: 'text 9', checkpoint: false },
      ],
      compacted: false,
    })
  })

  it('keeps a checkpoint whatever its source kind and says that the session was compacted', () => {
    for (const sourceKind of ['plugin:compact', 'compact-checkpoint']) {
      expect(project([message(4, { sourceKind, checkpoint: true })])).toEqual({
        messages: [{ seq: 4, role: 'user', text: 'text 4', checkpoint: true }],
        compacted: true,
      })
    }
  })

  it('drops user messages that no person wrote', () => {
    const kinds = ['plugin:todo', 'session-reference', 'tool', 'model', 'User']
    expect(project(kinds.map((sourceKind, seq) => message(seq, { sourceKind }))).messages).toEqual([])
  })

  it('drops tool, system and developer messages even when they call the user their source', () => {
    expect(
      project([
        message(0, { type: 'tool/result', role: 'tool' }),
        message(1, { type: 'tool/result', role: 'user' }),
        message(2, { type: 'system/message', role: 'system' }),
        message(3, { type: 'developer/message', role: 'developer' }),
      ]).messages,
    ).toEqual([])
  })

  it('drops empty text, keeps blank text as it is', () => {
    expect(project([message(0, { text: '' }), message(1, { text: ' \n' })]).messages).toEqual([
      { seq: 1, role: 'user', text: ' \n', checkpoint: false },
    ])
  })

  it('does not call a session compacted for a checkpoint without text', () => {
    expect(project([message(0, { text: '', checkpoint: true })])).toEqual({ messages: [], compacted: false })
  })

  it('reads its input once and keeps text exact', () => {
    function* surface() {
      yield message(0, { text: '\ud800<\ufeff' })
    }
    expect(project(surface()).messages).toEqual([{ seq: 0, role: 'user', text: '\ud800<\ufeff', checkpoint: false }])
  })
})

describe('titleOf()', () => {
  it('gives the title exactly as stored', () => {
    expect(titleOf({ title: ' Fix  the\u0007 build ', messageSeqs: [], source: { kind: 'user' } })).toBe(
      ' Fix  the\u0007 build ',
    )
    expect(titleOf({ title: '' })).toBe('')
  })

  it('gives nothing for a payload without a string title', () => {
    for (const data of [undefined, null, 'title', 1, [], {}, { title: null }, { title: 3 }, { title: ['a'] }]) {
      expect(titleOf(data)).toBeUndefined()
    }
  })
})

describe('labelOf()', () => {
  it('is the title, else the id', () => {
    expect(labelOf('Fix the build', 'abc')).toBe('Fix the build')
    expect(labelOf(undefined, 'abc')).toBe('abc')
  })

  it('is the id for an empty title', () => {
    expect(labelOf('', 'abc')).toBe('abc')
  })
})
