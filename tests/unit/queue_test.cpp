#include "exec/queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

#include "exec/clock.hpp"
#include "exec/doorbell.hpp"
#include "exec/seqlock.hpp"

namespace tutti {
namespace {

TEST(Queue, ANewQueueIsEmptyAndHoldsExactlyItsCapacity) {
  const auto queue = std::make_unique<Queue>();
  Producer producer(*queue);
  Consumer consumer(*queue);
  EXPECT_EQ(consumer.front(), nullptr);
  for (std::size_t i = 0; i < Queue::capacity; ++i) {
    ASSERT_NE(producer.free_slot(), nullptr);
    producer.publish();
  }
  EXPECT_EQ(producer.free_slot(), nullptr);
  ASSERT_NE(consumer.front(), nullptr);
  consumer.pop();
  EXPECT_NE(producer.free_slot(), nullptr);
}

TEST(Queue, AnUnpublishedSlotIsInvisible) {
  const auto queue = std::make_unique<Queue>();
  Producer producer(*queue);
  Consumer consumer(*queue);
  producer.free_slot()->payload_bytes = 7;
  EXPECT_EQ(consumer.front(), nullptr);
  producer.publish();
  ASSERT_NE(consumer.front(), nullptr);
  EXPECT_EQ(consumer.front()->payload_bytes, 7U);
}

TEST(Queue, ASlotIsConsumedWhenItIsPoppedAndNotBefore) {
  const auto queue = std::make_unique<Queue>();
  Producer producer(*queue);
  Consumer consumer(*queue);
  const std::uint64_t number = producer.published();
  ASSERT_NE(producer.free_slot(), nullptr);
  producer.publish();
  EXPECT_FALSE(producer.is_consumed(number));
  ASSERT_NE(consumer.front(), nullptr);
  EXPECT_FALSE(producer.is_consumed(number));
  consumer.pop();
  EXPECT_TRUE(producer.is_consumed(number));
}

TEST(Queue, SlotsPoppedForLaterAreReleasedHalfAQueueAtATimeOrWhenAsked) {
  const auto queue = std::make_unique<Queue>();
  Producer producer(*queue);
  Consumer consumer(*queue);
  for (std::size_t i = 0; i < Queue::capacity; ++i) producer.publish();
  for (std::size_t i = 1; i < Queue::capacity / 2; ++i) consumer.pop_later();
  EXPECT_EQ(producer.free_slot(), nullptr);
  consumer.pop_later();
  EXPECT_NE(producer.free_slot(), nullptr);
  EXPECT_FALSE(consumer.release());
  consumer.pop_later();
  EXPECT_EQ(queue->head, Queue::capacity / 2);
  EXPECT_TRUE(consumer.release());
  EXPECT_EQ(queue->head, Queue::capacity / 2 + 1);
}

TEST(Queue, AQueueThatWasResetIsEmptyAndWorksFromTheBeginning) {
  const auto queue = std::make_unique<Queue>();
  Producer before(*queue);
  for (std::size_t i = 0; i < Queue::capacity / 2; ++i) before.publish();
  queue->reset();
  Producer producer(*queue);
  Consumer consumer(*queue);
  EXPECT_EQ(consumer.front(), nullptr);
  ASSERT_NE(producer.free_slot(), nullptr);
  producer.publish();
  EXPECT_NE(consumer.front(), nullptr);
}

TEST(Queue, ANewQueueLeavesItsSlotsAlone) {
  alignas(Queue) static std::array<std::byte, sizeof(Queue)> memory;
  memory.fill(std::byte{0xaa});
  auto* const queue = new (memory.data()) Queue;
  EXPECT_EQ(Producer(*queue).published(), 0U);
  const auto slots_begin = reinterpret_cast<std::byte*>(Producer(*queue).free_slot());
  EXPECT_TRUE(std::all_of(slots_begin, memory.data() + memory.size(),
                          [](std::byte byte) { return byte == std::byte{0xaa}; }));
}

// Run under ThreadSanitizer too: the payload is plain memory.
TEST(Queue, TwoThreadsSeeEveryPayloadInOrderAndSleepWhileThereIsNone) {
  constexpr std::uint64_t messages = 20000;
  const auto queue = std::make_unique<Queue>();
  Doorbell bell;  // The consumer's.
  std::thread sender([&] {
    Producer producer(*queue);
    for (std::uint64_t i = 0; i < messages; ++i) {
      Slot* slot = producer.free_slot();
      for (; slot == nullptr; slot = producer.free_slot()) std::this_thread::yield();
      slot->payload_bytes = i;
      std::memcpy(slot->large.data() + i % 1000, &i, sizeof(i));
      producer.publish();
      if (queue->consumer_sleeps.load()) bell.ring();
    }
  });
  Consumer consumer(*queue);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < messages; ++i) {
    const Slot* slot = consumer.front();
    while (slot == nullptr) {
      bell.arm();
      queue->consumer_sleeps = true;
      slot = consumer.front();
      if (slot == nullptr) bell.sleep(no_deadline);
      queue->consumer_sleeps = false;
      bell.disarm();
      if (slot == nullptr) slot = consumer.front();
    }
    std::uint64_t value = 0;
    std::memcpy(&value, slot->large.data() + i % 1000, sizeof(value));
    if (value != i || slot->payload_bytes != i) ++wrong;
    consumer.pop();
  }
  sender.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(consumer.front(), nullptr);
}

TEST(Doorbell, ABellRungBeforeTheSleepEndsItAtOnce) {
  Doorbell bell;
  bell.arm();
  bell.ring();
  bell.sleep(no_deadline);  // Would never return.
}

TEST(Doorbell, AnUnrungBellSleepsUntilTheDeadline) {
  Doorbell bell;
  const double deadline_seconds = monotonic_seconds() + 0.05;
  bell.arm();
  while (monotonic_seconds() < deadline_seconds) bell.sleep(deadline_seconds);
  bell.ring();  // Still armed: nobody rang in between.
  EXPECT_GE(monotonic_seconds(), deadline_seconds);
}

TEST(Seqlock, AReaderNeverSeesHalfOfAValue) {
  struct Triple {
    std::uint64_t a = 0, b = 0, c = 0;
  };
  Seqlock<Triple> lock;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 1; !stop; ++i) lock.store({i, 2 * i, 3 * i});
  });
  std::uint64_t torn = 0, last = 0;
  for (int i = 0; i < 100000; ++i) {
    const Triple value = lock.load();
    if (value.b != 2 * value.a || value.c != 3 * value.a) ++torn;
    if (value.a != 0 && value.a < last) ++torn;
    last = std::max(last, value.a);
  }
  stop = true;
  writer.join();
  EXPECT_EQ(torn, 0U);
}

}  // namespace
}  // namespace tutti
