import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './modules.ts'

// rules.txt lists the rules of the specification, one a line: `section | rule | code | test`. The code decides the rule
// and the test proves it. Both cite the section: a search for `service.md, Limits` finds the code and the test. A rule
// with `-` is decided in several places, or by a library.
const rules = readFileSync(join(root, 'scripts/rules.txt'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => line.split(' | '))

test('the code of each rule of the specification, and a test that npm test runs, cite its section', () => {
  const missing = rules.flatMap(([section = '', rule = '', code = '', test = '']) =>
    [code, test]
      .filter((path) => path !== '-')
      .filter((path) => !existsSync(join(root, path)) || !readFileSync(join(root, path), 'utf8').includes(section))
      .map((path) => `${path} does not cite "${section}": ${rule}`),
  )
  expect(missing).toEqual([])
  expect(rules.filter(([, , , test = '']) => !/(?<!\.long)\.test\.ts$/.test(test))).toEqual([])
})
