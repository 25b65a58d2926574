import { test } from 'vitest'
import { expectErrorsOfWideFile } from './wide-file-errors.ts'

test('in a wide file in which every cell is wrong, each row is in the error file once, with a message for each cell', async () => {
  await expectErrorsOfWideFile(900)
})
