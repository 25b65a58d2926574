// Files as spreadsheet programs write them, byte by byte. They were written by hand after the forms that the programs
// are documented to use: the code page of Windows and the list separator of its region (Excel, "CSV"), UTF-16 with
// a byte order mark and tabs (Excel, "Unicode Text"), UTF-8 after a byte order mark (Excel, "CSV UTF-8"), CR as line
// break (Excel for Mac, "CSV (Macintosh)"), UTF-8 with CRLF (Numbers), and quotes around all texts (LibreOffice, "Quote
// all text cells").

/** Returns the bytes of parts: texts in UTF-8, and bytes. */
function bytes(...parts: (string | number[])[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))
}

/** Excel with German settings, "CSV (Trennzeichen-getrennt)". */
export const germanExcel = Buffer.from(
  [
    'Kundennr.;E-Mail;Größe;Umsatz;Geboren;Notiz;Geheim',
    'user-1;anna@example.com;1,70;1.234,50;31.12.1990;"Straße 12; ""Hof""";x',
    'user-2;ben@example.com;1,80;99,00;01.02.1985;"zwei\nZeilen";y',
    'user-3;;;;;Ölgemälde;z',
    '',
  ].join('\r\n'),
  'latin1',
)

/** Excel, "Unicode Text". */
export const unicodeText = Buffer.concat([
  Buffer.from([0xff, 0xfe]),
  Buffer.from('user_id\tname\tnote\r\nuser-1\tŁukasz\t"a\tb"\r\nuser-2\t山田\t"5"" disk"\r\n', 'utf16le'),
])

/** Excel, "CSV UTF-8". */
export const utf8WithMark = bytes([0xef, 0xbb, 0xbf], 'user_id,name\r\nuser-1,Zoë\r\n')

/** Excel for Mac with German settings, "CSV (Macintosh)". 0x9f is ü, 0x8e is é. */
export const macintosh = bytes('user_id;name\ruser-1;M', [0x9f], 'ller\ruser-2;Andr', [0x8e], '\r')

/** Excel with Japanese settings: タロウ and 山田. */
export const shiftJis = bytes(
  ...['user_id,name\r\nuser-1,', [0x83, 0x5e, 0x83, 0x8d, 0x83, 0x45], '\r\nuser-2,', [0x8e, 0x52, 0x93, 0x63], '\r\n'],
)

/** Excel with Russian settings: Иван. */
export const russianExcel = bytes('user_id;name\r\nuser-1;', [0xc8, 0xe2, 0xe0, 0xed], '\r\n')

/** Numbers with German settings. */
export const numbers = bytes('user_id;name;size\r\nuser-1;Jürgen;1,5\r\n')

/** LibreOffice with "Quote all text cells". */
export const libreOffice = bytes('"user_id","name","note"\n"user-1","Zoë","two\nlines"\n')

/** The first bytes of an Excel workbook. */
export const workbook = Buffer.from('PK\x03\x04\x14\0\x06\0\b\0\0\0!\0\x62\xee\x9d\x68[Content_Types].xml', 'latin1')
