export { runProgram, testWith } from './command.ts'
export { conditionalHeaders, headersOfOperation } from './model.ts'
export { answerOf, begin, type RawAnswer, type RawRequest, send, testCredentials, testRegion } from './raw-request.ts'
