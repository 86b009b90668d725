#include "exec/tcp_frame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

namespace tutti {
namespace {

using ::testing::HasSubstr;

std::string failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

CallRecord some_call() {
  CallRecord call{.sequence = 7,
                  .signature = 0x0123456789abcdef,
                  .count = 1000,
                  .root = 3,
                  .dtype = DType::int64,
                  .op = Op::max};
  const std::string_view name = "reduce_binomial";
  std::copy(name.begin(), name.end(), call.algorithm.begin());
  return call;
}

DataHeader some_header() {
  return {.envelope = {.signature = 11, .count = 5, .dtype = DType::float16, .ghost = false},
          .call = some_call()};
}

TEST(TcpFrame, AHelloSurvivesTheWire) {
  const Hello hello{.purpose = Hello::Purpose::join,
                    .world = 0xfedcba9876543210,
                    .rank = 3,
                    .size = 9,
                    .run = 12,
                    .lane = 2,
                    .port = 29500,
                    .address = "fd00::1234"};
  const std::string bytes = encode(hello);
  ASSERT_EQ(bytes.size(), Hello::encoded_bytes);
  const auto decoded = decode_hello(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(encode(*decoded), bytes);
  EXPECT_EQ(decoded->world, hello.world);
  EXPECT_EQ(decoded->address, hello.address);
}

TEST(TcpFrame, AHelloIsNothingUntilItIsWhole) {
  const std::string bytes = encode(Hello{.rank = 1, .size = 2});
  for (std::size_t count = 0; count < bytes.size(); ++count) {
    EXPECT_FALSE(decode_hello(bytes.substr(0, count))) << count;
  }
}

TEST(TcpFrame, AStrangerIsRecognisedByItsFirstByte) {
  EXPECT_THAT(failure_of([] { decode_hello("GET / HTTP/1.1"); }), HasSubstr("first bytes"));
  EXPECT_THAT(failure_of([] { decode_hello("G"); }), HasSubstr("first bytes"));
}

TEST(TcpFrame, AnotherVersionIsRefusedWithBothNumbers) {
  std::string bytes = encode(Hello{});
  bytes[8] = 99;
  EXPECT_THAT(failure_of([&] { decode_hello(bytes.substr(0, 12)); }),
              HasSubstr("version 99 of the protocol, expected 2"));
}

TEST(TcpFrame, AMessageHeaderSurvivesTheWireWithAndWithoutItsCall) {
  for (const bool has_call : {true, false}) {
    DataHeader header = some_header();
    if (!has_call) header.call.reset();
    const EncodedHeader bytes = encode(header);
    EXPECT_EQ(bytes.bytes % 8, 0U);
    for (std::size_t count = 0; count < bytes.bytes; ++count) {
      EXPECT_FALSE(decode_data_header({bytes.data.data(), count})) << count;
    }
    const auto decoded = decode_data_header({bytes.data.data(), bytes.bytes});
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->bytes, bytes.bytes);
    EXPECT_EQ(decoded->header.envelope.signature, 11U);
    EXPECT_EQ(decoded->header.payload_bytes(), 10U);
    ASSERT_EQ(decoded->header.call.has_value(), has_call);
    if (!has_call) continue;
    EXPECT_EQ(decoded->header.call->describe(), some_call().describe());
  }
}

TEST(TcpFrame, CountsBeyond32BitsSurviveTheWire) {
  for (const std::uint64_t bytes : {0x7fffffffULL, 0x80000004ULL, 0x100000004ULL}) {
    const DataHeader header{.envelope = {.count = bytes, .dtype = DType::uint8}, .call = {}};
    const EncodedHeader encoded = encode(header);
    EXPECT_EQ(decode_data_header({encoded.data.data(), encoded.bytes})->header.payload_bytes(),
              bytes);
  }
}

TEST(TcpFrame, AHeaderThatCountsMoreThanAnyMemoryHoldsIsRefused) {
  const DataHeader header{.envelope = {.count = ~std::uint64_t{0}}, .call = {}};
  const EncodedHeader encoded = encode(header);
  EXPECT_THAT(failure_of([&] {
                decode_data_header({encoded.data.data(), encoded.bytes});
              }),
              HasSubstr("18446744073709551615 elements"));
}

TEST(TcpFrame, ADtypeThatDoesNotExistIsRefused) {
  EncodedHeader encoded = encode(some_header());
  encoded.data[1] = std::byte{200};
  EXPECT_THAT(failure_of([&] {
                decode_data_header({encoded.data.data(), encoded.bytes});
              }),
              HasSubstr("dtype 200 does not exist"));
}

TEST(TcpFrame, NoticesComeOutOfAStreamByteByByte) {
  const std::string stream = encode(Frame{Frame::Kind::refused, "no"}) +
                             encode(Frame{Frame::Kind::exchange, ""}) +
                             encode(Frame{Frame::Kind::exchange, std::string(100000, 'x')});
  FrameReader reader;
  std::vector<std::size_t> sizes;
  for (const char byte : stream) {
    reader.append({&byte, 1});
    while (const auto frame = reader.next()) sizes.push_back(frame->body.size());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 0, 100000}));
}

TEST(TcpFrame, ANoticeThatIsTooLongIsRefusedBeforeItIsThere) {
  FrameReader reader;
  reader.append(encode_frame_header(Frame::Kind::failed, Frame::most_body_bytes + 1));
  EXPECT_THAT(failure_of([&] { reader.next(); }), HasSubstr("too long"));
}

TEST(TcpFrame, StatesFailuresAndWelcomesSurviveTheWire) {
  const LaneState state{.run = 3,
                        .lane = 1,
                        .has_left = true,
                        .sent = 4,
                        .received = 5,
                        .needed = 6,
                        .waits_to_send = true,
                        .call = some_call()};
  const LaneState decoded = decode_lane_state(encode(state));
  EXPECT_EQ(encode(decoded), encode(state));
  EXPECT_EQ(decoded.call.describe(), state.call.describe());
  EXPECT_EQ(decode_failure(encode(FailureNotice{9, ErrorKind::timeout, "why"})).text, "why");
  const Welcome welcome{.session = 5, .members = {{}, {"10.0.0.2", 4000}, {"::1", 1}}};
  EXPECT_EQ(encode(decode_welcome(encode(welcome), 3)), encode(welcome));
  EXPECT_THAT(failure_of([&] { decode_welcome(encode(welcome), 4); }),
              HasSubstr("3 ranks, expected 4"));
  EXPECT_THAT(failure_of([&] { decode_welcome(encode(welcome) + "x", 3); }),
              HasSubstr("1 bytes too many"));
  EXPECT_THAT(failure_of([] { decode_lane_state("short"); }), HasSubstr("too early"));
}

TEST(TcpFrame, AnEndpointIsAHostAndAPort) {
  EXPECT_EQ(parse_endpoint("node0:29500").host, "node0");
  EXPECT_EQ(parse_endpoint("10.0.0.1:1").port, 1);
  EXPECT_EQ(parse_endpoint("[fd00::1]:29500").host, "fd00::1");
  for (const char* const wrong : {"", ":", "node0", "node0:", ":80", "node0:0", "node0:65536",
                                  "node0:8x", "fd00::1", "[]:80", "[::1:80", "::1]:80"}) {
    EXPECT_THAT(failure_of([&] { parse_endpoint(wrong); }), HasSubstr("no host and port")) << wrong;
  }
}

}  // namespace
}  // namespace tutti
