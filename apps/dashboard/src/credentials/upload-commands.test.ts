import { expect, test } from 'vitest'
import { placeholders, uploadCommands } from './upload-commands.ts'

const address = {
  endpoint: 'https://s3.example.com',
  bucket: 'files',
  path: 'uploads/7/',
  region: 'eu-central-1',
}

test('each command contains endpoint, region, path and key', () => {
  const commands = uploadCommands(address, placeholders)
  expect(commands.map(({ program }) => program)).toEqual(['aws', 's3cmd', 'rclone'])
  for (const { program, command } of commands) {
    expect(command).toContain(program)
    expect(command).toMatch(/files\/uploads\/7\//)
    for (const word of ['s3.example.com', 'eu-central-1', 'people.csv', 'ACCESS_KEY_ID', 'SECRET_ACCESS_KEY']) {
      expect(command).toContain(word)
    }
  }
})

test('the command for s3cmd states whether the connection is encrypted', () => {
  const s3cmd = (endpoint: string) => uploadCommands({ ...address, endpoint }, placeholders)[1]?.command
  expect(s3cmd('https://s3.example.com')).toContain('--ssl')
  expect(s3cmd('http://127.0.0.1:3006')).toContain('--no-ssl')
})

test('text that a shell would interpret is quoted', () => {
  const [{ command } = { command: '' }] = uploadCommands({ ...address, bucket: "it's $HOME" }, placeholders)
  expect(command).toContain(`'s3://it'\\''s $HOME/uploads/7/'`)
})
