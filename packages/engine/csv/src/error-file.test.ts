import { describe, expect, test } from 'vitest'
import { errorFileHeader } from './error-file.ts'

// service.md, Error CSV file; design.md §3, Error file.
describe('the header of an error file', () => {
  test.each([
    ['begins with SERVICE_ERRORS', ['user_id', 'age'], 'SERVICE_ERRORS,user_id,age\n'],
    ['has SERVICE_ERRORS once', ['user_id', 'SERVICE_ERRORS', 'age'], 'SERVICE_ERRORS,user_id,age\n'],
    ['quotes names if needed', ['user_id', 'a,"b"'], 'SERVICE_ERRORS,user_id,"a,""b"""\n'],
  ])('%s', (_, columns, line) => {
    expect(errorFileHeader(columns).toString()).toBe(line)
  })
})
