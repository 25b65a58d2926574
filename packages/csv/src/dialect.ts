/** The bytes that mean something in a CSV file (design.md §3, CSV dialect). */
export const COMMA = 0x2c
export const QUOTE = 0x22
export const CR = 0x0d
export const LF = 0x0a

/** UTF-8 byte order mark. */
export const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/** Column that names the user of a row; required (service.md, Bulk import CSV file). */
export const USER_ID = 'user_id'

/** Column that is reserved for the messages of the error file (service.md, Bulk import CSV file). */
export const SERVICE_ERRORS = 'SERVICE_ERRORS'
