import { describe, expect, test } from 'vitest'
import { errorRoomBytes } from './error-file.ts'

const header = 'SERVICE_ERRORS,user_id,n\n'.length
const columns = ['user_id', 'n']

describe('the room for the rows of an error file', () => {
  test('is the whole limit less the header, if it needs less than a page of Postgres', () => {
    expect(errorRoomBytes({ ERROR_FILE_LIMIT: 8_191 }, columns)).toBe(8_191 - header)
  })

  test('leaves a sixteenth for the overhead of the pages that Postgres needs meanwhile', () => {
    expect(errorRoomBytes({ ERROR_FILE_LIMIT: 2 ** 30 }, columns)).toBe((2 ** 30 * 15) / 16 - header)
  })
})
