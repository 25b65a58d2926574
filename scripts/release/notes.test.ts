import { expect, test } from 'vitest'
import { releaseNotes } from './notes.ts'

const source = { version: '1.2.0', commit: 'abc', isTagged: true }
const changelog =
  '# Changelog\n\n## 1.2.0\n\n- See [the guide](docs/guide.md) and [us](https://example.com).\n\n## 1.1.0\n\n- Old.\n'

test('the notes name the tag, each file and what changed in this version only', () => {
  const parts = [{ file: 'sluice-1.2.0.tgz', use: 'the chart' }]
  const notes = releaseNotes(source, { parts, remarks: ['The image is missing.'], changelog })
  expect(notes).toContain('# Sluice 1.2.0\n\nThe tag `v1.2.0`, commit `abc`.\n')
  expect(notes).toContain('| `sluice-1.2.0.tgz` | the chart |\n')
  expect(notes).toContain('The image is missing.\n')
  expect(notes.endsWith('## Changes\n\n- See the guide and [us](https://example.com).\n')).toBe(true)
})

test('a version without a section in the changelog is not released', () => {
  const made = () => releaseNotes({ ...source, version: '1.2' }, { parts: [], remarks: [], changelog })
  expect(made).toThrow('CHANGELOG.md has no section 1.2')
})
