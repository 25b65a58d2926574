import { once } from 'node:events'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { readFileForm } from './file-form.ts'

test('a form whose sender has left before it is read is refused, instead of being waited for', async () => {
  const request = new IncomingMessage(new Socket())
  request.destroy()
  await once(request, 'close')
  await expect(readFileForm(request, 'multipart/form-data; boundary=a')).rejects.toThrow('closed the connection early')
})
